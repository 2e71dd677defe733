//! `hive schedule edit`: another prompt, timetable or other targets.

use hive_proto::v1::{EditScheduleRequest, Misfire, Overlap};

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes, when};
use super::create::body;
use super::timing::{MisfireArg, OverlapArg, parse_interval, parse_time};

/// Change a schedule; what is not given stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule edit 4 --add cook --every 2h")]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    /// Another prompt; `-` reads stdin.
    #[arg(long)]
    body: Option<String>,
    /// Another line for yourself.
    #[arg(long)]
    description: Option<String>,
    /// Another interval.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_interval, conflicts_with_all = ["cron", "once"])]
    every: Option<u64>,
    /// Once more, at its next time, and never again.
    #[arg(long, conflicts_with = "cron")]
    once: bool,
    /// A cron pattern instead.
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// Another time zone of its cron pattern.
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Its next time; an interval goes on from there.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    next: Option<i64>,
    /// Agents that it writes to as well, with commas between them.
    #[arg(long, value_delimiter = ',')]
    add: Vec<String>,
    /// Agents that it does not write to any more.
    #[arg(long, value_delimiter = ',')]
    remove: Vec<String>,
    /// What becomes of times that passed while nothing could run.
    #[arg(long, value_enum)]
    misfire: Option<MisfireArg>,
    /// What happens while a target has not finished the last one.
    #[arg(long, value_enum)]
    overlap: Option<OverlapArg>,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = EditScheduleRequest {
        id: args.id,
        body: args.body.map(body).transpose()?,
        description: args.description,
        interval_secs: match args.once {
            true => Some(0),
            false => args.every,
        },
        cron: args.cron,
        tz: args.tz,
        next_fire_at_ms: args.next,
        targets_add: args.add,
        targets_remove: args.remove,
        misfire: args.misfire.map_or(Misfire::Unspecified, Into::into).into(),
        overlap: args.overlap.map_or(Overlap::Unspecified, Into::into).into(),
        idempotency_key: String::new(),
    };
    let edited = ctx.calls().edit_schedule(request).await?;
    let schedule = edited.schedule.unwrap_or_default();
    if args.format.json {
        return output::json(&shapes::Schedule::from(&schedule));
    }
    let next = match schedule.next_fire_at_ms {
        0 => "it has ended".to_owned(),
        at => format!("next at {}", when::utc(at)),
    };
    output::line(&format!("schedule {}: changed, {next}", schedule.id))
}
