//! `hive schedule show`: one schedule with every slot and what became of it.

use hive_proto::v1::{GetScheduleRequest, Occurrence, Schedule, ScheduleDetail};
use hive_proto::words;

use super::super::output::{self, Format, Tone};
use super::super::table::{self, Cell, Column, Table};
use super::super::{CliError, Ctx, escape, shapes, when};
use super::timing;

/// Show a schedule with every slot: fired, or skipped and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule show 4 --json")]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    /// Newest slots to show, at most 10,000.
    #[arg(short, default_value_t = 1_000)]
    n: u32,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = GetScheduleRequest {
        id: args.id,
        limit: args.n,
    };
    let detail = ctx.calls().schedule(request).await?;
    if args.format.json {
        return output::json(&shapes::ScheduleDetail::from(&detail));
    }
    output::text(&text(&detail))
}

fn text(detail: &ScheduleDetail) -> String {
    let schedule = detail.schedule.clone().unwrap_or_default();
    let shown = u64::try_from(detail.occurrences.len()).unwrap_or(u64::MAX);
    let more = match detail.occurrences_total.saturating_sub(shown) {
        0 => String::new(),
        more => format!("{more} older slots are not shown\n"),
    };
    [
        head(&schedule),
        format!("{}\n", escape::block(schedule.body.trim_end())),
        targets(&schedule),
        format!("{}{more}", slots(&detail.occurrences)),
    ]
    .join("\n")
}

fn head(schedule: &Schedule) -> String {
    let id = |id: i64| match id {
        0 => String::new(),
        id => id.to_string(),
    };
    table::pairs(&[
        ("id", schedule.id.to_string()),
        ("owner", escape::line(&schedule.owner)),
        ("about", escape::block(&schedule.description)),
        ("state", words::schedule_state(schedule.state()).to_owned()),
        (
            "when",
            timing::words(&schedule.timing.clone().unwrap_or_default()),
        ),
        ("next", when::utc(schedule.next_fire_at_ms)),
        ("misfire", words::misfire(schedule.misfire()).to_owned()),
        ("overlap", words::overlap(schedule.overlap()).to_owned()),
        ("approval", id(schedule.approval_id)),
        ("change waits", id(schedule.pending_approval_id)),
        ("made", when::utc(schedule.created_at_ms)),
        ("ended", when::utc(schedule.finished_at_ms)),
    ])
}

fn targets(schedule: &Schedule) -> String {
    let mut table = Table::new(&[
        Column::Whole("TARGET"),
        Column::Whole("STATE"),
        Column::Whole("FIRED"),
        Column::Free("LAST"),
    ]);
    for target in &schedule.targets {
        table.row([
            target.agent.as_str().into(),
            target.state.as_str().into(),
            when::utc(target.last_fired_at_ms).into(),
            target.last_result.as_str().into(),
        ]);
    }
    table.render()
}

/// One line a slot and target.
pub(super) fn slots(occurrences: &[Occurrence]) -> String {
    if occurrences.is_empty() {
        return "no slot has come yet\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Whole("SLOT"),
        Column::Whole("TARGET"),
        Column::Whole("STATE"),
        Column::Number("MESSAGE"),
        Column::Free("WHY"),
    ]);
    for one in occurrences {
        let tone = match one.state.as_str() {
            "fired" => Tone::Good,
            _ => Tone::Faint,
        };
        let message = match one.message_id {
            0 => String::new(),
            id => id.to_string(),
        };
        table.row([
            when::utc(one.slot_ms).into(),
            one.target.as_str().into(),
            Cell::toned(tone, &one.state),
            message.into(),
            one.reason.as_str().into(),
        ]);
    }
    table.render()
}
