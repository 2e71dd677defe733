//! What a caller asks for, and what it comes to once it is checked.

use hive_proto::ids::{AgentId, UnixMs};
use hive_proto::limits::{NOTE_CHARS, SCHEDULE_BODY_BYTES, SCHEDULE_TARGETS};
use serde_json::{Value, json};

use super::authority::{Actor, target};
use super::error::ScheduleError;
use crate::model::schedule::{Misfire, Overlap, Timing, TimingFault};
use crate::store::Conn;
use crate::store::roster::Member;
use crate::store::schedules::Definition;

/// A schedule as a caller describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub targets: Vec<String>,
    pub body: String,
    pub when: When,
    pub misfire: Option<Misfire>,
    pub overlap: Option<Overlap>,
    pub description: String,
    pub key: Option<String>,
}

/// A timetable as a caller describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    pub first: Option<UnixMs>,
    pub interval_secs: Option<u64>,
    pub cron: String,
    pub zone: String,
}

/// A change of a schedule; what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub body: Option<String>,
    pub description: Option<String>,
    /// 0: once more, and never again.
    pub interval_secs: Option<u64>,
    pub cron: Option<String>,
    pub zone: Option<String>,
    pub next: Option<UnixMs>,
    pub add: Vec<String>,
    pub remove: Vec<String>,
    pub misfire: Option<Misfire>,
    pub overlap: Option<Overlap>,
    pub key: Option<String>,
}

// === impl Draft ===

impl Draft {
    /// The definition, and the agents that it writes to.
    pub(super) fn check(
        &self,
        conn: &Conn,
        actor: Actor,
        least_secs: u64,
        now: UnixMs,
    ) -> Result<(Definition, Vec<Member>), ScheduleError> {
        body(&self.body)?;
        description(&self.description)?;
        let timing = self.when.timing(least_secs, now)?;
        let members = members(conn, actor, &self.targets)?;
        if members.is_empty() {
            return Err(ScheduleError::NoTargets);
        }
        let definition = Definition {
            body: self.body.clone(),
            timing,
            misfire: self.misfire.unwrap_or(Misfire::Once),
            overlap: self.overlap.unwrap_or(Overlap::Queue),
        };
        Ok((definition, members))
    }

    /// What tells this request from another one with the same key.
    pub(super) fn fingerprint(&self) -> Value {
        json!({
            "op": "create",
            "targets": self.targets,
            "body": self.body,
            "first": self.when.first,
            "interval": self.when.interval_secs,
            "cron": self.when.cron,
            "zone": self.when.zone,
            "misfire": self.misfire.map(Misfire::word),
            "overlap": self.overlap.map(Overlap::word),
            "description": self.description,
        })
    }
}

// === impl When ===

impl When {
    /// # Errors
    /// When it says no timetable, or two.
    pub fn timing(&self, least_secs: u64, now: UnixMs) -> Result<Timing, TimingFault> {
        let cron = self.cron.trim();
        match (cron, self.interval_secs, self.first) {
            ("", None, None) => Err(TimingFault::Nothing),
            ("", _, _) if !self.zone.trim().is_empty() => Err(TimingFault::ZoneAlone),
            ("", Some(secs), first) => Timing::every(secs, first, least_secs, now),
            ("", None, Some(first)) => Timing::once(first, now),
            (cron, None, None) => Timing::cron(cron, &self.zone, least_secs, now),
            (_, _, _) => Err(TimingFault::Both),
        }
    }
}

// === impl Change ===

impl Change {
    /// What tells this request from another one with the same key.
    pub(super) fn fingerprint(&self, id: i64) -> Value {
        json!({
            "op": "edit",
            "id": id,
            "body": self.body,
            "description": self.description,
            "interval": self.interval_secs,
            "cron": self.cron,
            "zone": self.zone,
            "next": self.next,
            "add": self.add,
            "remove": self.remove,
            "misfire": self.misfire.map(Misfire::word),
            "overlap": self.overlap.map(Overlap::word),
        })
    }

    /// The timetable after this change of `timing`, whose next slot is `next`; with the time of the
    /// next slot where the change itself says it.
    pub(super) fn timing(
        &self,
        timing: &Timing,
        next: UnixMs,
        least_secs: u64,
        now: UnixMs,
    ) -> Result<(Timing, Option<UnixMs>), TimingFault> {
        // Checked like any time that is given.
        let given = match self.next {
            None => None,
            Some(at) => Timing::once(at, now)?.begin(now),
        };
        let next = given.unwrap_or(next);
        match (self.interval_secs, self.cron.as_deref()) {
            (Some(_), Some(_)) => Err(TimingFault::Both),
            (Some(_), None) if self.zone.is_some() => Err(TimingFault::ZoneAlone),
            (Some(0), None) => Ok((Timing::Once { at: next }, Some(next))),
            (Some(secs), None) => {
                // A slot that has come and is not settled yet is no anchor.
                let first = (next > now).then_some(next);
                Ok((Timing::every(secs, first, least_secs, now)?, None))
            }
            (None, Some(pattern)) => {
                let zone = match (&self.zone, timing) {
                    (Some(zone), _) => zone.as_str(),
                    (None, Timing::Cron(cron)) if !pattern.trim().starts_with("@every") => {
                        cron.zone()
                    }
                    (None, _) => "",
                };
                Ok((Timing::cron(pattern, zone, least_secs, now)?, given))
            }
            (None, None) => self.moved(timing, given, now),
        }
    }

    /// The same timetable in another zone, or from another slot on.
    fn moved(
        &self,
        timing: &Timing,
        given: Option<UnixMs>,
        now: UnixMs,
    ) -> Result<(Timing, Option<UnixMs>), TimingFault> {
        let moved = match (timing, given, &self.zone) {
            (Timing::Cron(cron), _, Some(zone)) => Timing::cron(cron.pattern(), zone, 0, now)?,
            (_, _, Some(_)) => return Err(TimingFault::ZoneAlone),
            (Timing::Once { .. }, Some(at), None) => Timing::Once { at },
            (Timing::Every { interval_secs, .. }, Some(first), None) => Timing::Every {
                first,
                interval_secs: *interval_secs,
            },
            (_, _, None) => timing.clone(),
        };
        Ok((moved, given))
    }

    /// Whether it asks for nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        let key = self.key.clone();
        *self
            == Self {
                key,
                ..Self::default()
            }
    }
}

pub(super) fn body(body: &str) -> Result<(), ScheduleError> {
    let bytes = body.len();
    if bytes > SCHEDULE_BODY_BYTES {
        let most = SCHEDULE_BODY_BYTES;
        return Err(ScheduleError::BodyTooLarge { bytes, most });
    }
    if body.trim().is_empty() {
        return Err(ScheduleError::EmptyBody);
    }
    Ok(())
}

pub(super) fn description(text: &str) -> Result<(), ScheduleError> {
    if text.chars().count() > NOTE_CHARS {
        return Err(ScheduleError::DescriptionTooLong { most: NOTE_CHARS });
    }
    Ok(())
}

/// The agents of these names, each once, in the order of their making.
pub(super) fn members(
    conn: &Conn,
    actor: Actor,
    names: &[String],
) -> Result<Vec<Member>, ScheduleError> {
    let most = SCHEDULE_TARGETS;
    if names.len() > most {
        let given = names.len();
        return Err(ScheduleError::TooManyTargets { given, most });
    }
    let mut all: Vec<Member> = Vec::with_capacity(names.len());
    for name in names {
        let member = target(conn, actor, name.trim())?;
        if all.iter().all(|known| known.id != member.id) {
            all.push(member);
        }
    }
    all.sort_by_key(|member| member.id);
    Ok(all)
}

/// The ids of members.
pub(super) fn ids(members: &[Member]) -> Vec<AgentId> {
    members.iter().map(|member| member.id).collect()
}
