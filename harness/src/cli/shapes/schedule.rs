//! Schedules and their occurrences as JSON documents.

use hive_proto::{v1, words};
use serde::Serialize;

use super::super::when;
use super::absent::{id, text};

/// One schedule.
#[derive(Debug, Serialize)]
pub(in super::super) struct Schedule {
    id: i64,
    owner: String,
    body: String,
    description: Option<String>,
    targets: Vec<Target>,
    next_fire_at: Option<String>,
    first_fire_at: Option<String>,
    interval_seconds: Option<u64>,
    cron: Option<String>,
    tz: Option<String>,
    misfire: &'static str,
    overlap: &'static str,
    state: &'static str,
    approval: Option<i64>,
    pending_approval: Option<i64>,
    created_at: Option<String>,
    finished_at: Option<String>,
}

/// One agent that it writes to.
#[derive(Debug, Serialize)]
pub(in super::super) struct Target {
    agent: String,
    state: String,
    last_fired_at: Option<String>,
    last_result: Option<String>,
}

/// One slot of one target.
#[derive(Debug, Serialize)]
pub(in super::super) struct Occurrence {
    schedule: i64,
    target: String,
    slot: Option<String>,
    state: String,
    reason: Option<String>,
    message: Option<i64>,
    slots: u64,
    extra: bool,
    at: Option<String>,
}

/// A schedule with its slots.
#[derive(Debug, Serialize)]
pub(in super::super) struct ScheduleDetail {
    #[serde(flatten)]
    schedule: Schedule,
    occurrences: Vec<Occurrence>,
    occurrences_total: u64,
}

/// What firing by hand came to.
#[derive(Debug, Serialize)]
pub(in super::super) struct Fired {
    #[serde(flatten)]
    schedule: Schedule,
    occurrences: Vec<Occurrence>,
}

// === impl Schedule ===

impl From<&v1::Schedule> for Schedule {
    fn from(schedule: &v1::Schedule) -> Self {
        let timing = schedule.timing.clone().unwrap_or_default();
        Self {
            id: schedule.id,
            owner: schedule.owner.clone(),
            body: schedule.body.clone(),
            description: text(&schedule.description),
            targets: schedule.targets.iter().map(Target::from).collect(),
            next_fire_at: when::json(schedule.next_fire_at_ms),
            first_fire_at: when::json(timing.first_at_ms),
            interval_seconds: (timing.interval_secs != 0).then_some(timing.interval_secs),
            cron: text(&timing.cron),
            tz: text(&timing.tz),
            misfire: words::misfire(schedule.misfire()),
            overlap: words::overlap(schedule.overlap()),
            state: words::schedule_state(schedule.state()),
            approval: id(schedule.approval_id),
            pending_approval: id(schedule.pending_approval_id),
            created_at: when::json(schedule.created_at_ms),
            finished_at: when::json(schedule.finished_at_ms),
        }
    }
}

// === impl Target ===

impl From<&v1::ScheduleTarget> for Target {
    fn from(target: &v1::ScheduleTarget) -> Self {
        Self {
            agent: target.agent.clone(),
            state: target.state.clone(),
            last_fired_at: when::json(target.last_fired_at_ms),
            last_result: text(&target.last_result),
        }
    }
}

// === impl Occurrence ===

impl From<&v1::Occurrence> for Occurrence {
    fn from(one: &v1::Occurrence) -> Self {
        Self {
            schedule: one.schedule_id,
            target: one.target.clone(),
            slot: when::json(one.slot_ms),
            state: one.state.clone(),
            reason: text(&one.reason),
            message: id(one.message_id),
            slots: one.slots,
            extra: one.extra,
            at: when::json(one.at_ms),
        }
    }
}

// === impl ScheduleDetail ===

impl From<&v1::ScheduleDetail> for ScheduleDetail {
    fn from(detail: &v1::ScheduleDetail) -> Self {
        Self {
            schedule: Schedule::from(&detail.schedule.clone().unwrap_or_default()),
            occurrences: detail.occurrences.iter().map(Occurrence::from).collect(),
            occurrences_total: detail.occurrences_total,
        }
    }
}

// === impl Fired ===

impl From<&v1::FireScheduleResponse> for Fired {
    fn from(fired: &v1::FireScheduleResponse) -> Self {
        Self {
            schedule: Schedule::from(&fired.schedule.clone().unwrap_or_default()),
            occurrences: fired.occurrences.iter().map(Occurrence::from).collect(),
        }
    }
}
