//! A schedule as tools show it.

use hive_proto::ids::UnixMs;
use hive_proto::v1::{self, Schedule};
use hive_proto::words;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: i64,
    owner: String,
    body: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    targets: Vec<Target>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_fire_at_unix: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    next_fire_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    cron: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    tz: String,
    misfire: &'static str,
    overlap: &'static str,
    /// A change that waits for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_approval: Option<i64>,
}

#[derive(Debug, Serialize)]
struct Target {
    agent: String,
    state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    last_fired_at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    last_result: String,
}

// === impl Shown ===

impl From<Schedule> for Shown {
    fn from(schedule: Schedule) -> Self {
        let (state, misfire, overlap) = (
            words::schedule_state(schedule.state()),
            words::misfire(schedule.misfire()),
            words::overlap(schedule.overlap()),
        );
        let timing = schedule.timing.unwrap_or_default();
        let next = schedule.next_fire_at_ms;
        Self {
            id: schedule.id,
            owner: schedule.owner,
            body: schedule.body,
            description: schedule.description,
            targets: schedule.targets.into_iter().map(Into::into).collect(),
            state,
            next_fire_at_unix: (next != 0).then_some(next / 1000),
            next_fire_at: UnixMs(next).rfc3339(),
            interval_seconds: (timing.interval_secs != 0).then_some(timing.interval_secs),
            cron: timing.cron,
            tz: timing.tz,
            misfire,
            overlap,
            pending_approval: (schedule.pending_approval_id != 0)
                .then_some(schedule.pending_approval_id),
        }
    }
}

impl From<v1::ScheduleTarget> for Target {
    fn from(target: v1::ScheduleTarget) -> Self {
        Self {
            agent: target.agent,
            state: target.state,
            last_fired_at: UnixMs(target.last_fired_at_ms).rfc3339(),
            last_result: target.last_result,
        }
    }
}
