//! `hive agent rm`: removes the container; `--purge` also what the agent kept.

use hive_proto::v1::RemoveAgentRequest;

use super::super::output;
use super::super::{CliError, Ctx};

/// Remove an agent's container and take it off the list; its state stays on the disk.
///
/// An agent created later under the same name is another one, but finds the kept state and home.
/// --purge deletes them too, and asks first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent rm scout --purge --yes")]
pub(super) struct Args {
    /// The agent's name.
    name: String,
    /// Delete its state, home and harness directories as well.
    #[arg(long)]
    purge: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    if args.purge && !args.yes && !confirmed(&args.name)? {
        return Err(CliError::failed("nothing was removed"));
    }
    let request = RemoveAgentRequest {
        name: args.name.clone(),
        purge: args.purge,
    };
    ctx.calls().remove_agent(request).await?;
    output::line(&format!("{}: removed", args.name))
}

fn confirmed(name: &str) -> Result<bool, CliError> {
    if !output::can_ask() {
        return Err(
            CliError::usage("--purge asks, and nobody is there to answer")
                .with_hint("add --yes to delete without being asked"),
        );
    }
    output::ask(&format!(
        "Delete {name} with its state, home and harness directories?"
    ))
}
