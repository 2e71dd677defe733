//! `hive serve`: the harness of one agent.

use super::{CliError, Ctx};

/// Serve as an agent's harness.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  HIVE_SOCKET=/run/hive/broker.sock hive serve")]
pub struct Args {
    /// Lead a session of its own and die with the parent (the `process` runtime).
    #[arg(long, hide = true)]
    pub child: bool,
}

pub(super) async fn run(_args: Args, _ctx: Ctx) -> Result<(), CliError> {
    Err(CliError::failed("serve is being built"))
}
