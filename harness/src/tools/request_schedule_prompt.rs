//! `request_schedule_prompt`: asks the operator for a prompt on a timetable.

use hive_proto::Refusal;
use hive_proto::ids::UnixMs;
use hive_proto::v1::{CreateScheduleRequest, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};
use super::moment::Moment;
use super::schedule_words::{MisfireWord, OverlapWord};

pub(super) const NAME: &str = "request_schedule_prompt";
pub(super) const DOC: &str = "Ask the operator for a schedule: a prompt that is sent to each target \
    at a time, again and again if you give interval_seconds or cron. Nothing runs before the operator \
    has approved exactly this; you get an approval_resolved event when that is decided. It needs an \
    approval also when you are the only target. Give a first time (once), an interval, or a cron \
    pattern.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Names of the agents that get the prompt, you among them if you like.
    targets: Vec<String>,
    /// The prompt, at most 64 KiB.
    body: String,
    /// When it fires first: Unix seconds, or RFC 3339 with an offset. Without interval_seconds the
    /// only time.
    #[serde(default, alias = "first_fire_at")]
    first_fire_at_unix: Option<Moment>,
    /// Seconds between two times, at least 60. Without a first time it begins one interval from now.
    #[serde(default)]
    interval_seconds: Option<u64>,
    /// Instead of both: a cron pattern of five fields, e.g. `0 9 * * 1-5`, or `@daily`, `@every 90m`.
    #[serde(default)]
    cron: Option<String>,
    /// Time zone of cron, e.g. `Europe/Berlin`; UTC when absent.
    #[serde(default)]
    tz: Option<String>,
    /// What becomes of times that passed while nothing could run: `once` (the default) fires the
    /// newest late, `skip` drops it when it is more than an hour late.
    #[serde(default)]
    misfire: Option<MisfireWord>,
    /// While a target has not finished the last one: `queue` (the default) sends anyway, `skip` does
    /// not.
    #[serde(default)]
    overlap: Option<OverlapWord>,
    /// Why, for the operator who decides.
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Asked {
    approval: i64,
    state: &'static str,
    digest: String,
    expires_at: String,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Asked, Refusal> {
    let first = args.first_fire_at_unix.as_ref().map(Moment::ms);
    let request = CreateScheduleRequest {
        targets: args.targets,
        body: args.body,
        timing: Some(Timing {
            first_at_ms: first.transpose()?.unwrap_or_default(),
            interval_secs: args.interval_seconds.unwrap_or_default(),
            cron: args.cron.unwrap_or_default(),
            tz: args.tz.unwrap_or_default(),
        }),
        misfire: MisfireWord::wire(args.misfire),
        overlap: OverlapWord::wire(args.overlap),
        description: args.description.unwrap_or_default(),
        idempotency_key: context.key(&key),
    };
    let asked = context.calls.request_schedule(request).await?;
    Ok(Asked {
        approval: asked.approval_id,
        state: "pending",
        digest: asked.digest,
        expires_at: UnixMs(asked.expires_at_ms).rfc3339(),
    })
}
