//! `edit_schedule`: changes a schedule of one's own or of an agent below.

use hive_proto::Refusal;
use hive_proto::v1::EditScheduleRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::context::{CallKey, ToolContext};
use super::moment::Moment;
use super::schedule_words::{MisfireWord, OverlapWord};
use super::shown_schedule::Shown;

pub(super) const NAME: &str = "edit_schedule";
pub(super) const DOC: &str = "Change a schedule that you own or that an agent below you owns. What \
    you leave out stays. Another body, further targets or another timetable need the operator's \
    approval again, and the old version runs until then; the description, fewer targets and the next \
    time change at once. A target that comes back begins with a clean history.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    /// Another prompt.
    #[serde(default)]
    body: Option<String>,
    /// Another description.
    #[serde(default)]
    description: Option<String>,
    /// Another interval in seconds; null makes it fire once more and never again.
    #[serde(default, deserialize_with = "given")]
    interval_seconds: Option<Option<u64>>,
    /// A cron pattern instead.
    #[serde(default)]
    cron: Option<String>,
    /// Time zone of cron.
    #[serde(default)]
    tz: Option<String>,
    /// The next time: Unix seconds, or RFC 3339 with an offset. An interval goes on from there.
    #[serde(default, alias = "next_fire_at")]
    next_fire_at_unix: Option<Moment>,
    /// Agents that get the prompt from now on, too.
    #[serde(default)]
    targets_add: Vec<String>,
    /// Agents that do not get it any more.
    #[serde(default)]
    targets_remove: Vec<String>,
    /// `once` or `skip`.
    #[serde(default)]
    misfire: Option<MisfireWord>,
    /// `queue` or `skip`.
    #[serde(default)]
    overlap: Option<OverlapWord>,
}

#[derive(Debug, Serialize)]
pub(super) struct Edited {
    /// `made`, or `pending` while it waits for the operator.
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<i64>,
    /// As it runs now.
    schedule: Shown,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Edited, Refusal> {
    let next = args.next_fire_at_unix.as_ref().map(Moment::ms);
    let request = EditScheduleRequest {
        id: args.id,
        body: args.body,
        description: args.description,
        interval_secs: args.interval_seconds.map(Option::unwrap_or_default),
        cron: args.cron,
        tz: args.tz,
        next_fire_at_ms: next.transpose()?,
        targets_add: args.targets_add,
        targets_remove: args.targets_remove,
        misfire: MisfireWord::wire(args.misfire),
        overlap: OverlapWord::wire(args.overlap),
        idempotency_key: context.key(&key),
    };
    let edited = context.calls.edit_schedule(request).await?;
    let approval = (edited.approval_id != 0).then_some(edited.approval_id);
    Ok(Edited {
        change: if approval.is_some() {
            "pending"
        } else {
            "made"
        },
        approval,
        schedule: edited.schedule.unwrap_or_default().into(),
    })
}

/// Tells `null`, which is given, from a field that is not there.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<u64>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::Args;

    #[test]
    fn null_is_told_from_absent() {
        let interval = |json: &str| {
            let args: Args = serde_json::from_str(json).unwrap();
            args.interval_seconds
        };
        assert_eq!(interval(r#"{"id": 1}"#), None);
        assert_eq!(
            interval(r#"{"id": 1, "interval_seconds": null}"#),
            Some(None)
        );
        assert_eq!(
            interval(r#"{"id": 1, "interval_seconds": 90}"#),
            Some(Some(90))
        );
    }
}
