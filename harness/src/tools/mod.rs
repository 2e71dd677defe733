//! The hive tools, one file each: arguments, doc, run. The MCP server and the scripted engine offer
//! the same ones.
//!
//! - [`context`]: what a tool is given
//! - [`registry`]: the list of tools, and the call by name
//! - [`groups`]: which of them an agent has

mod answer;
mod ask;
mod cancel_loose_end;
mod cancel_schedule;
mod context;
mod edit_schedule;
mod fire_schedule_now;
mod get_agent_meta;
mod get_loose_ends;
mod groups;
mod list_schedules;
mod moment;
mod recv;
mod registry;
mod remind;
mod request_next_turn;
mod request_schedule_prompt;
mod schedule_words;
mod send;
mod set_status;
mod shown_schedule;

pub use context::{CallKey, ToolContext};
pub use registry::{Tool, ToolError, call, find, offered, tools};
