//! `hive schedule rm`: ends one, or takes targets out of it.

use hive_proto::v1::CancelScheduleRequest;
use hive_proto::words;

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes};

/// Cancel a schedule, or take targets out of it. Its slots so far stay on record.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule rm 4 --to cook")]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    /// Only these targets, with commas between them; it ends when none is left.
    #[arg(long, value_delimiter = ',')]
    to: Vec<String>,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = CancelScheduleRequest {
        id: args.id,
        targets: args.to,
    };
    let schedule = ctx.calls().cancel_schedule(request).await?;
    if args.format.json {
        return output::json(&shapes::Schedule::from(&schedule));
    }
    let state = words::schedule_state(schedule.state());
    output::line(&format!("schedule {}: {state}", schedule.id))
}
