//! `hive schedule create`: a schedule of the operator's own, which needs no approval.

use std::io::Read as _;

use hive_proto::v1::{CreateScheduleRequest, Misfire, Overlap, Timing};

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes, when};
use super::timing::{MisfireArg, OverlapArg, parse_interval, parse_time};

/// Send a prompt to agents at a time, at an interval or by a cron pattern.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  hive schedule create --to scout,cook --body \"look at the news\" --cron \"0 9 * * 1-5\" --tz Europe/Berlin"
)]
#[command(group(clap::ArgGroup::new("when").required(true).multiple(true).args(["at", "every", "cron"])))]
pub(super) struct Args {
    /// Names of the agents, with commas between them.
    #[arg(long, value_delimiter = ',', required = true)]
    to: Vec<String>,
    /// The prompt; `-` reads stdin.
    #[arg(long)]
    body: String,
    /// Once, at this time (RFC 3339 with an offset, or Unix seconds); with --every: from then on.
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "cron")]
    at: Option<i64>,
    /// Again and again: 90m, 2h, 7d; at least a minute.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_interval, conflicts_with = "cron")]
    every: Option<u64>,
    /// A cron pattern of five fields, or @daily and its like.
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
    /// The time zone of --cron; UTC when left out.
    #[arg(long, value_name = "ZONE", requires = "cron")]
    tz: Option<String>,
    /// What becomes of times that passed while nothing could run.
    #[arg(long, value_enum, default_value = "once")]
    misfire: MisfireArg,
    /// What happens while a target has not finished the last one.
    #[arg(long, value_enum, default_value = "queue")]
    overlap: OverlapArg,
    /// A line for yourself.
    #[arg(long, default_value = "")]
    description: String,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = CreateScheduleRequest {
        targets: args.to,
        body: body(args.body)?,
        timing: Some(Timing {
            first_at_ms: args.at.unwrap_or_default(),
            interval_secs: args.every.unwrap_or_default(),
            cron: args.cron.unwrap_or_default(),
            tz: args.tz.unwrap_or_default(),
        }),
        misfire: Misfire::from(args.misfire).into(),
        overlap: Overlap::from(args.overlap).into(),
        description: args.description,
        idempotency_key: String::new(),
    };
    let schedule = ctx.calls().create_schedule(request).await?;
    if args.format.json {
        return output::json(&shapes::Schedule::from(&schedule));
    }
    let next = when::utc(schedule.next_fire_at_ms);
    output::line(&format!("schedule {}: next at {next}", schedule.id))
}

/// The text, or stdin for `-`.
pub(super) fn body(given: String) -> Result<String, CliError> {
    if given != "-" {
        return Ok(given);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
