//! `hive schedule fire`: one slot now, beside the timetable.

use hive_proto::v1::FireScheduleRequest;

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes};
use super::show::slots;

/// Fire a schedule now. One that repeats keeps its timetable; one that fires once is used up.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule fire 4")]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = FireScheduleRequest {
        id: args.id,
        idempotency_key: String::new(),
    };
    let fired = ctx.calls().fire_schedule(request).await?;
    if args.format.json {
        return output::json(&shapes::Fired::from(&fired));
    }
    output::text(&slots(&fired.occurrences))
}
