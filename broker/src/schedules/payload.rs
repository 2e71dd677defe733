//! A schedule as the bytes that a person approves, and back: everything that will run, with agents by
//! their ids and their names.

use hive_proto::ids::{AgentId, ScheduleId, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::schedule::{Cron, Misfire, Overlap, Timing};
use crate::store::roster::Member;
use crate::store::schedules::Definition;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) op: Op,
    pub(super) requester: Named,
    pub(super) owner: Named,
    /// By id.
    pub(super) targets: Vec<Named>,
    pub(super) definition: Definition,
    /// The next slot, where a change names it.
    pub(super) next: Option<UnixMs>,
}

/// A new schedule, or a change of the version of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Create,
    Edit { schedule: ScheduleId, version: i64 },
}

/// An agent as people know it, bound to its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) id: AgentId,
    pub(super) name: String,
}

/// Bytes that are no plan: a fault of hive, since hive wrote them.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the stored request cannot be read: {0}")]
pub(super) struct Unreadable(String);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    kind: String,
    op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schedule: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    requester: Named,
    owner: Named,
    targets: Vec<Named>,
    body: String,
    timing: TimingDocument,
    misfire: String,
    overlap: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_fire_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum TimingDocument {
    Once {
        at: String,
    },
    Every {
        first_fire_at: String,
        interval_seconds: u64,
    },
    Cron {
        pattern: String,
        time_zone: String,
    },
}

const KIND: &str = "schedule_prompt";

// === impl Named ===

impl From<&Member> for Named {
    fn from(member: &Member) -> Self {
        Self {
            id: member.id,
            name: member.name.clone(),
        }
    }
}

// === impl Plan ===

impl Plan {
    /// As JSON; [`crate::approvals::canonical`] makes the bytes of it.
    pub(super) fn document(&self) -> Result<Value, serde_json::Error> {
        let (op, schedule, version) = match self.op {
            Op::Create => ("create", None, None),
            Op::Edit { schedule, version } => ("edit", Some(schedule.0), Some(version)),
        };
        serde_json::to_value(Document {
            kind: KIND.to_owned(),
            op: op.to_owned(),
            schedule,
            version,
            requester: self.requester.clone(),
            owner: self.owner.clone(),
            targets: self.targets.clone(),
            body: self.definition.body.clone(),
            timing: (&self.definition.timing).into(),
            misfire: self.definition.misfire.word().to_owned(),
            overlap: self.definition.overlap.word().to_owned(),
            next_fire_at: self.next.map(UnixMs::rfc3339),
        })
    }

    /// Reads what [`Self::document`] wrote.
    pub(super) fn read(bytes: &str) -> Result<Self, Unreadable> {
        let unreadable = |what: &str| Unreadable(what.to_owned());
        let document: Document =
            serde_json::from_str(bytes).map_err(|error| Unreadable(error.to_string()))?;
        let op = match (document.op.as_str(), document.schedule, document.version) {
            ("create", None, None) => Op::Create,
            ("edit", Some(schedule), Some(version)) => Op::Edit {
                schedule: ScheduleId(schedule),
                version,
            },
            _ => return Err(unreadable("it says neither create nor edit")),
        };
        Ok(Self {
            op,
            requester: document.requester,
            owner: document.owner,
            targets: document.targets,
            definition: Definition {
                body: document.body,
                timing: document.timing.read()?,
                misfire: Misfire::parse(&document.misfire).ok_or_else(|| unreadable("misfire"))?,
                overlap: Overlap::parse(&document.overlap).ok_or_else(|| unreadable("overlap"))?,
            },
            next: document.next_fire_at.map(|at| moment(&at)).transpose()?,
        })
    }
}

// === impl TimingDocument ===

impl From<&Timing> for TimingDocument {
    fn from(timing: &Timing) -> Self {
        match timing {
            Timing::Once { at } => Self::Once { at: at.rfc3339() },
            Timing::Every {
                first,
                interval_secs,
            } => Self::Every {
                first_fire_at: first.rfc3339(),
                interval_seconds: *interval_secs,
            },
            Timing::Cron(cron) => Self::Cron {
                pattern: cron.pattern().to_owned(),
                time_zone: cron.zone().to_owned(),
            },
        }
    }
}

impl TimingDocument {
    fn read(self) -> Result<Timing, Unreadable> {
        Ok(match self {
            Self::Once { at } => Timing::Once { at: moment(&at)? },
            Self::Every {
                first_fire_at,
                interval_seconds,
            } => Timing::Every {
                first: moment(&first_fire_at)?,
                interval_secs: interval_seconds,
            },
            Self::Cron { pattern, time_zone } => Timing::Cron(Cron::stored(pattern, time_zone)),
        })
    }
}

fn moment(text: &str) -> Result<UnixMs, Unreadable> {
    text.parse::<jiff::Timestamp>()
        .map(|at| UnixMs(at.as_millisecond()))
        .map_err(|error| Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::{AgentId, ScheduleId, UnixMs};

    use super::{Named, Op, Plan};
    use crate::approvals::canonical;
    use crate::model::schedule::{Cron, Misfire, Overlap, Timing};
    use crate::store::schedules::Definition;

    const AT: UnixMs = UnixMs(1_796_083_200_000);

    fn plan(op: Op, timing: Timing, next: Option<UnixMs>) -> Plan {
        let named = |id, name: &str| Named {
            id: AgentId(id),
            name: name.to_owned(),
        };
        Plan {
            op,
            requester: named(1, "lead"),
            owner: named(1, "lead"),
            targets: vec![named(2, "ant"), named(3, "bee")],
            definition: Definition {
                body: "look\u{202e} at it\n".to_owned(),
                timing,
                misfire: Misfire::Once,
                overlap: Overlap::Skip,
            },
            next,
        }
    }

    #[test]
    fn what_is_shown_says_all_that_runs() {
        let every = Timing::Every {
            first: AT,
            interval_secs: 3_600,
        };
        let bytes = canonical(&plan(Op::Create, every, None).document().unwrap()).unwrap();
        assert_eq!(
            bytes,
            r#"{"body":"look\u202e at it\n","kind":"schedule_prompt","misfire":"once","op":"create","overlap":"skip","owner":{"id":1,"name":"lead"},"requester":{"id":1,"name":"lead"},"targets":[{"id":2,"name":"ant"},{"id":3,"name":"bee"}],"timing":{"every":{"first_fire_at":"2026-12-01T00:00:00.000Z","interval_seconds":3600}}}"#
        );
    }

    #[test]
    fn it_reads_back_as_it_was() {
        let edit = Op::Edit {
            schedule: ScheduleId(7),
            version: 3,
        };
        let cron = Timing::Cron(Cron::new("0 9 * * 1-5", "Europe/Berlin", AT).unwrap());
        let plans = [
            plan(Op::Create, Timing::Once { at: AT }, None),
            plan(edit, cron, Some(AT)),
        ];
        for plan in plans {
            let bytes = canonical(&plan.document().unwrap()).unwrap();
            assert_eq!(Plan::read(&bytes).unwrap(), plan);
        }
        assert!(Plan::read("{}").is_err());
    }
}
