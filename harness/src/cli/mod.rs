//! The commands, one file each: `Args`, whose doc comments are the help, and `run(args, ctx)`.
//!
//! - [`root`]: the list of commands and the dispatch
//! - [`context`]: what every command gets: where the socket is, and whose
//! - [`error`]: what a command fails with, and its exit code
//! - [`output`], [`table`], [`shapes`], [`escape`], [`when`], [`event_line`]: how things are shown
//! - [`reply`]: waiting for the answer to a message
//! - [`docker_engine`], [`hive_toml`], [`programs`]: what `up` and `doctor` look at

mod agent;
mod answer;
mod approval;
mod approve;
mod backup;
mod completions;
mod context;
mod dead;
mod deny;
mod detach;
mod docker_engine;
mod doctor;
mod down;
mod engine;
mod error;
mod escape;
mod event_line;
mod hive_toml;
mod inbox;
mod logs;
mod mail_list;
mod mcp;
mod message;
mod notify;
mod output;
mod programs;
mod question;
mod reminder;
mod reply;
mod restore;
mod root;
mod schedule;
mod send;
mod serve;
mod shapes;
mod status;
mod table;
mod up;
mod wake;
mod watch;
mod when;

pub use context::Ctx;
pub use error::{CliError, report};
pub use root::{Cli, Command};
