//! `hive mcp`: the tools of the harness in this container over MCP on stdin and stdout.

use super::{CliError, Ctx};
use crate::mcp::bridge;
use crate::settings::Settings;

/// Offer hive's tools as an MCP server on stdin and stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  claude mcp add hive -- hive mcp")]
pub struct Args {}

pub(super) async fn run(_args: Args, _ctx: Ctx) -> Result<(), CliError> {
    let settings = Settings::read(|name| std::env::var(name).ok());
    bridge(&settings.run)
        .await
        .map_err(|error| CliError::Failed {
            message: error.to_string(),
            hint: "run it inside an agent's container, beside `hive serve`".to_owned(),
        })
}
