//! `hive schedule ls`: what will be sent, and when.

use hive_proto::words;

use super::super::output::{self, Format};
use super::super::table::{Column, Table};
use super::super::{CliError, Ctx, shapes, when};
use super::timing;

/// List schedules with their next times.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule ls --all")]
pub(super) struct Args {
    /// Also those that have ended.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let schedules = ctx.calls().schedules(args.all).await?;
    if args.format.json {
        let list: Vec<_> = schedules.iter().map(shapes::Schedule::from).collect();
        return output::json(&list);
    }
    if schedules.is_empty() {
        return output::line("no schedules");
    }
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("OWNER"),
        Column::Whole("STATE"),
        Column::Whole("NEXT"),
        Column::Free("WHEN"),
        Column::Free("TO"),
        Column::Free("WHAT"),
    ]);
    for schedule in &schedules {
        let active = schedule.targets.iter().filter(|to| to.state == "active");
        let to: Vec<_> = active.map(|target| target.agent.as_str()).collect();
        let what = match schedule.description.as_str() {
            "" => schedule.body.as_str(),
            description => description,
        };
        table.row([
            schedule.id.to_string().into(),
            schedule.owner.as_str().into(),
            words::schedule_state(schedule.state()).into(),
            when::utc(schedule.next_fire_at_ms).into(),
            timing::words(&schedule.timing.clone().unwrap_or_default()).into(),
            to.join(",").into(),
            what.into(),
        ]);
    }
    output::text(&table.render())
}
