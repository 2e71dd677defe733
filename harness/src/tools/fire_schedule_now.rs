//! `fire_schedule_now`: one slot beside the timetable.

use hive_proto::Refusal;
use hive_proto::v1::{FireScheduleRequest, Occurrence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};
use super::shown_schedule::Shown;

pub(super) const NAME: &str = "fire_schedule_now";
pub(super) const DOC: &str = "Send a schedule's prompt to each of its targets now, once. One that \
    repeats keeps its timetable; one that fires only once is used up by this.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct Fired {
    results: Vec<Outcome>,
    schedule: Shown,
}

#[derive(Debug, Serialize)]
struct Outcome {
    target: String,
    state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<i64>,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Fired, Refusal> {
    let request = FireScheduleRequest {
        id: args.id,
        idempotency_key: context.key(&key),
    };
    let fired = context.calls.fire_schedule(request).await?;
    Ok(Fired {
        results: fired.occurrences.into_iter().map(outcome).collect(),
        schedule: fired.schedule.unwrap_or_default().into(),
    })
}

fn outcome(one: Occurrence) -> Outcome {
    Outcome {
        target: one.target,
        state: one.state,
        reason: one.reason,
        message: (one.message_id != 0).then_some(one.message_id),
    }
}
