//! `hive mcp`: hive's tools over MCP on stdin and stdout.

use super::{CliError, Ctx};

/// Offer hive's tools as an MCP server on stdin and stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  claude mcp add hive -- hive mcp")]
pub struct Args {}

pub(super) async fn run(_args: Args, _ctx: Ctx) -> Result<(), CliError> {
    Err(CliError::failed("mcp is being built"))
}
