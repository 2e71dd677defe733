//! The hive tools, one file each: arguments, doc, run. The MCP server and the scripted engine offer
//! the same ones.
//!
//! - [`context`]: what a tool is given
//! - [`registry`]: the list of tools, and the call by name
//! - [`groups`]: which of them an agent has

mod context;
mod get_agent_meta;
mod groups;
mod recv;
mod registry;
mod request_next_turn;
mod send;
mod set_status;

pub use context::{CallKey, ToolContext};
pub use registry::{Tool, ToolError, call, find, offered, tools};
