//! `hive agent move`: another parent, or none.

use hive_proto::v1::MoveAgentRequest;

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes};

/// Give an agent another parent; everything below it goes with it.
///
/// A running agent is told: its next turn reports to the new parent. The variable HIVE_PARENT inside
/// its container stays as it was until `hive agent restart`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent move scout --parent lead")]
pub(super) struct Args {
    /// The agent's name.
    name: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// The agent that it is to belong to.
    #[arg(long, value_name = "NAME")]
    parent: Option<String>,
    /// Make it a root agent: it belongs to the operator alone.
    #[arg(long)]
    root: bool,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = MoveAgentRequest {
        name: args.name,
        parent: args.place.parent.unwrap_or_else(|| "operator".to_owned()),
    };
    let agent = ctx.calls().move_agent(request).await?;
    if args.format.json {
        return output::json(&shapes::Agent::from(&agent));
    }
    output::line(&format!("{}: below {}", agent.name, agent.parent))
}
