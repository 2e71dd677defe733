//! Schedules and what is asked of them, on the wire.

use hive_proto::ids::UnixMs;
use hive_proto::v1;

use super::ms;
use crate::approvals::Asked;
use crate::model::schedule::{Misfire, Overlap, State, Timing};
use crate::schedules::{
    Change, Draft, Edited, Fired, OccurrenceRow, ScheduleDetail, ScheduleView, Settled, TargetRow,
    When,
};

/// Characters of a body in a list.
const LISTED_BODY: usize = 500;

impl From<v1::CreateScheduleRequest> for Draft {
    fn from(request: v1::CreateScheduleRequest) -> Self {
        let (misfire, overlap) = (misfire(request.misfire()), overlap(request.overlap()));
        Self {
            misfire,
            overlap,
            targets: request.targets,
            body: request.body,
            when: request.timing.unwrap_or_default().into(),
            description: request.description,
            key: some(request.idempotency_key),
        }
    }
}

impl From<v1::Timing> for When {
    fn from(timing: v1::Timing) -> Self {
        Self {
            first: (timing.first_at_ms != 0).then_some(UnixMs(timing.first_at_ms)),
            interval_secs: (timing.interval_secs != 0).then_some(timing.interval_secs),
            cron: timing.cron,
            zone: timing.tz,
        }
    }
}

impl From<v1::EditScheduleRequest> for Change {
    fn from(request: v1::EditScheduleRequest) -> Self {
        let (misfire, overlap) = (misfire(request.misfire()), overlap(request.overlap()));
        Self {
            misfire,
            overlap,
            body: request.body,
            description: request.description,
            interval_secs: request.interval_secs,
            cron: request.cron,
            zone: request.tz,
            next: request.next_fire_at_ms.map(UnixMs),
            add: request.targets_add,
            remove: request.targets_remove,
            key: some(request.idempotency_key),
        }
    }
}

impl From<ScheduleView> for v1::Schedule {
    fn from(view: ScheduleView) -> Self {
        let (row, targets) = (view.row, view.targets);
        Self {
            id: row.id.0,
            owner: row.owner_name,
            body: row.definition.body,
            description: row.description,
            timing: Some(row.definition.timing.into()),
            misfire: match row.definition.misfire {
                Misfire::Once => v1::Misfire::Once,
                Misfire::Skip => v1::Misfire::Skip,
            }
            .into(),
            overlap: match row.definition.overlap {
                Overlap::Queue => v1::Overlap::Queue,
                Overlap::Skip => v1::Overlap::Skip,
            }
            .into(),
            state: match row.state {
                State::Active => v1::ScheduleState::Active,
                State::Done => v1::ScheduleState::Done,
                State::Cancelled => v1::ScheduleState::Cancelled,
            }
            .into(),
            next_fire_at_ms: ms(row.next),
            targets: targets.into_iter().map(Into::into).collect(),
            approval_id: row.approval.map_or(0, |id| id.0),
            pending_approval_id: view.pending.map_or(0, |id| id.0),
            created_at_ms: row.created_at.0,
            finished_at_ms: ms(row.finished_at),
        }
    }
}

impl From<Timing> for v1::Timing {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Once { at } => Self {
                first_at_ms: at.0,
                ..Self::default()
            },
            Timing::Every {
                first,
                interval_secs,
            } => Self {
                first_at_ms: first.0,
                interval_secs,
                ..Self::default()
            },
            Timing::Cron(cron) => Self {
                cron: cron.pattern().to_owned(),
                tz: cron.zone().to_owned(),
                ..Self::default()
            },
        }
    }
}

impl From<TargetRow> for v1::ScheduleTarget {
    fn from(row: TargetRow) -> Self {
        Self {
            agent: row.name,
            state: row.membership.word().to_owned(),
            last_fired_at_ms: ms(row.last_fired_at),
            last_result: row.last_result,
        }
    }
}

impl From<OccurrenceRow> for v1::Occurrence {
    fn from(row: OccurrenceRow) -> Self {
        let (state, reason, message) = match row.settled {
            Settled::Fired { message, reason } => ("fired", reason, message.0),
            Settled::Skipped { reason } => ("skipped", reason, 0),
        };
        Self {
            schedule_id: row.schedule.0,
            target: row.target_name,
            slot_ms: row.slot.0,
            state: state.to_owned(),
            reason,
            message_id: message,
            at_ms: row.at.0,
            slots: row.slots,
            extra: row.extra,
        }
    }
}

impl From<ScheduleDetail> for v1::ScheduleDetail {
    fn from(detail: ScheduleDetail) -> Self {
        Self {
            schedule: Some(detail.view.into()),
            occurrences: detail.occurrences.into_iter().map(Into::into).collect(),
            occurrences_total: detail.total,
        }
    }
}

impl From<Fired> for v1::FireScheduleResponse {
    fn from(fired: Fired) -> Self {
        Self {
            schedule: Some(fired.view.into()),
            occurrences: fired.occurrences.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Asked> for v1::RequestSchedulePromptResponse {
    fn from(asked: Asked) -> Self {
        Self {
            approval_id: asked.id.0,
            digest: asked.digest,
            duplicate: asked.replayed,
            expires_at_ms: asked.expires_at.0,
        }
    }
}

/// What became of an edit.
#[must_use]
pub fn edited(edited: Edited, view: ScheduleView) -> v1::EditScheduleResponse {
    let (approval_id, digest) = match edited {
        Edited::Made => (0, String::new()),
        Edited::Waits(asked) => (asked.id.0, asked.digest),
    };
    v1::EditScheduleResponse {
        schedule: Some(view.into()),
        approval_id,
        digest,
    }
}

/// Schedules in a list, with their bodies cut.
#[must_use]
pub fn schedules(views: Vec<ScheduleView>) -> v1::ListSchedulesResponse {
    let listed = views.into_iter().map(|mut view| {
        let body = &mut view.row.definition.body;
        if let Some((at, _)) = body.char_indices().nth(LISTED_BODY) {
            body.truncate(at);
            body.push('…');
        }
        view.into()
    });
    v1::ListSchedulesResponse {
        schedules: listed.collect(),
    }
}

fn misfire(said: v1::Misfire) -> Option<Misfire> {
    match said {
        v1::Misfire::Unspecified => None,
        v1::Misfire::Once => Some(Misfire::Once),
        v1::Misfire::Skip => Some(Misfire::Skip),
    }
}

fn overlap(said: v1::Overlap) -> Option<Overlap> {
    match said {
        v1::Overlap::Unspecified => None,
        v1::Overlap::Queue => Some(Overlap::Queue),
        v1::Overlap::Skip => Some(Overlap::Skip),
    }
}

fn some(key: String) -> Option<String> {
    Some(key).filter(|key| !key.is_empty())
}
