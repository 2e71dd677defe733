//! The commands, one file each: `Args` and `run(args, ctx)`.
//!
//! - [`root`]: the list of commands and the dispatch
//! - [`context`]: what every command gets: where the socket is
//! - [`error`]: what a command fails with, and its exit code

mod context;
mod error;
mod mcp;
mod root;
mod serve;

pub use context::Ctx;
pub use error::{CliError, report};
pub use root::{Cli, Command};
