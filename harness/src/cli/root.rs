//! The list of commands and the dispatch.

use clap::{Parser, Subcommand};

use super::{CliError, Ctx, mcp, serve};

/// A hive of AI agents that can be left running.
#[derive(Debug, Parser)]
#[command(name = "hive", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// One variant a command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve as an agent's harness (what a container runs).
    Serve(serve::Args),
    /// Offer hive's tools as an MCP server on stdin and stdout.
    Mcp(mcp::Args),
}

// === impl Cli ===

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// What the command failed with.
    pub async fn run(self) -> Result<(), CliError> {
        let ctx = Ctx::find(|name| std::env::var(name).ok());
        match self.command {
            Command::Serve(args) => serve::run(args, ctx).await,
            Command::Mcp(args) => mcp::run(args, ctx).await,
        }
    }
}
