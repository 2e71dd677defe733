//! Changes of a schedule. The operator's are made at once. An agent's are made at once when they only
//! narrow or shift what a person has approved (the description, fewer targets, the time of the next
//! slot, no further slot after it); anything else waits for an approval, and the old version runs on.

use hive_proto::ids::{AgentId, ApprovalId, ScheduleId, UnixMs};
use hive_proto::limits::SCHEDULE_TARGETS;

use super::authority::{Actor, living, own_active};
use super::cancel;
use super::draft::{self, Change};
use super::error::ScheduleError;
use super::make::{begin, document, fingerprint};
use super::payload::{Named, Op, Plan};
use crate::approvals::{self, Asked, Kind, Request};
use crate::model::schedule::Timing;
use crate::store::roster::Member;
use crate::store::schedules::{
    self as table, Definition, Membership, Owner, ScheduleRow, TargetRow,
};
use crate::store::{Tx, roster};

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    Made,
    Waits(Asked),
}

/// A change that was checked.
struct Wanted {
    definition: Definition,
    description: String,
    /// The next slot, where the change says it.
    next: Option<UnixMs>,
    add: Vec<Member>,
    remove: Vec<AgentId>,
}

/// Changes a schedule, or asks for the change.
pub(super) fn edit(
    tx: &mut Tx<'_>,
    actor: Actor,
    id: ScheduleId,
    change: &Change,
    least_secs: u64,
) -> Result<Edited, ScheduleError> {
    let asked = fingerprint(&change.fingerprint(id.0))?;
    if let Actor::Agent(agent) = actor
        && let Some(before) = approvals::replay(tx, agent, change.key.as_deref(), &asked)?
    {
        return Ok(Edited::Waits(before));
    }
    let row = own_active(tx.conn(), actor, id)?;
    let before = table::targets(tx.conn(), id)?;
    let wanted = check(tx, actor, &row, &before, change, least_secs)?;
    match actor {
        Actor::Agent(agent) if !is_within(&row, &wanted) => {
            ask(tx, agent, &row, &before, &wanted, change, &asked).map(Edited::Waits)
        }
        Actor::Agent(_) => {
            let approval = row.approval;
            make(tx, &row, &before, &wanted, approval)?;
            Ok(Edited::Made)
        }
        Actor::Operator => {
            let approval = row.approval.filter(|_| is_within(&row, &wanted));
            make(tx, &row, &before, &wanted, approval)?;
            Ok(Edited::Made)
        }
    }
}

fn check(
    tx: &Tx<'_>,
    actor: Actor,
    row: &ScheduleRow,
    before: &[TargetRow],
    change: &Change,
    least_secs: u64,
) -> Result<Wanted, ScheduleError> {
    if change.is_empty() {
        return Err(ScheduleError::NothingToChange);
    }
    let old = &row.definition;
    let body = change.body.as_ref().unwrap_or(&old.body);
    draft::body(body)?;
    let description = change.description.as_ref().unwrap_or(&row.description);
    draft::description(description)?;
    let now = tx.now();
    let (timing, next) = change.timing(&old.timing, row.next.unwrap_or(now), least_secs, now)?;
    let remove = named(row, before, &change.remove)?;
    let active = |id: AgentId| {
        let known = before.iter().find(|target| target.id == id);
        known.is_some_and(|target| target.membership == Membership::Active)
    };
    let mut add = draft::members(tx.conn(), actor, &change.add)?;
    add.retain(|member| !active(member.id) && !remove.contains(&member.id));
    let given = before.iter().filter(|target| active(target.id)).count() + add.len();
    if given > SCHEDULE_TARGETS {
        let most = SCHEDULE_TARGETS;
        return Err(ScheduleError::TooManyTargets { given, most });
    }
    Ok(Wanted {
        definition: Definition {
            body: body.clone(),
            timing,
            misfire: change.misfire.unwrap_or(old.misfire),
            overlap: change.overlap.unwrap_or(old.overlap),
        },
        description: description.clone(),
        next,
        add,
        remove,
    })
}

/// The ids of targets by their names, living or not.
pub(super) fn named(
    row: &ScheduleRow,
    targets: &[TargetRow],
    names: &[String],
) -> Result<Vec<AgentId>, ScheduleError> {
    let mut all = Vec::with_capacity(names.len());
    for name in names.iter().map(|name| name.trim()) {
        // Of a purged agent and its successor the one that is there.
        let found = targets
            .iter()
            .filter(|target| target.name == name)
            .max_by_key(|target| (target.membership == Membership::Active, target.id));
        let target = found.ok_or_else(|| ScheduleError::NotATarget {
            id: row.id,
            name: name.to_owned(),
        })?;
        all.push(target.id);
    }
    Ok(all)
}

/// Whether what was approved covers it.
fn is_within(row: &ScheduleRow, wanted: &Wanted) -> bool {
    let (old, new) = (&row.definition, &wanted.definition);
    let timing = match (&old.timing, &new.timing) {
        (_, Timing::Once { .. }) => true,
        (
            Timing::Every {
                interval_secs: old, ..
            },
            Timing::Every {
                interval_secs: new, ..
            },
        ) => old == new,
        (Timing::Cron(old), Timing::Cron(new)) => old == new,
        (_, Timing::Every { .. } | Timing::Cron(_)) => false,
    };
    timing
        && wanted.add.is_empty()
        && (&old.body, old.misfire, old.overlap) == (&new.body, new.misfire, new.overlap)
}

fn make(
    tx: &mut Tx<'_>,
    row: &ScheduleRow,
    before: &[TargetRow],
    wanted: &Wanted,
    approval: Option<ApprovalId>,
) -> Result<(), ScheduleError> {
    let changed = Changed {
        definition: &wanted.definition,
        description: &wanted.description,
        next: wanted.next,
        approval,
    };
    redefine(tx, row, &changed)?;
    for target in &wanted.remove {
        table::remove_target(tx, row.id, *target)?;
    }
    for member in &wanted.add {
        table::add_target(tx, row.id, member.id)?;
    }
    // Whatever waits was asked for on another version.
    approvals::withdraw_on(tx, &row.subject(), "the schedule was changed meanwhile")?;
    let left = before
        .iter()
        .filter(|target| target.membership == Membership::Active)
        .filter(|target| !wanted.remove.contains(&target.id))
        .count();
    if left + wanted.add.len() == 0 {
        cancel::end(tx, row.id, "none of its targets is left")?;
    }
    Ok(())
}

/// Another definition for a version.
pub(super) struct Changed<'a> {
    pub(super) definition: &'a Definition,
    pub(super) description: &'a str,
    pub(super) next: Option<UnixMs>,
    pub(super) approval: Option<ApprovalId>,
}

/// Gives the version another definition; an unchanged timetable keeps its next slot.
pub(super) fn redefine(
    tx: &mut Tx<'_>,
    row: &ScheduleRow,
    changed: &Changed<'_>,
) -> Result<(), ScheduleError> {
    let kept = row
        .next
        .filter(|_| row.definition.timing == changed.definition.timing);
    let next = match changed.next.or(kept) {
        Some(next) => next,
        None => begin(changed.definition, tx.now())?,
    };
    table::redefine(
        tx,
        row,
        changed.definition,
        changed.description,
        next,
        changed.approval,
    )?;
    Ok(())
}

fn ask(
    tx: &mut Tx<'_>,
    agent: AgentId,
    row: &ScheduleRow,
    before: &[TargetRow],
    wanted: &Wanted,
    change: &Change,
    asked: &str,
) -> Result<Asked, ScheduleError> {
    let requester = living(tx.conn(), agent)?;
    let Owner::Agent(owner) = row.owner else {
        return Err(ScheduleError::Unknown(row.id));
    };
    let owner = roster::member(tx.conn(), owner)?.ok_or(ScheduleError::Gone)?;
    let mut targets: Vec<Named> = before
        .iter()
        .filter(|target| target.membership == Membership::Active)
        .filter(|target| !wanted.remove.contains(&target.id))
        .map(|target| Named {
            id: target.id,
            name: target.name.clone(),
        })
        .chain(wanted.add.iter().map(Named::from))
        .collect();
    targets.sort_by_key(|target| target.id);
    if targets.is_empty() {
        return Err(ScheduleError::NoTargets);
    }
    let plan = Plan {
        op: Op::Edit {
            schedule: row.id,
            version: row.version,
        },
        requester: (&requester).into(),
        owner: (&owner).into(),
        targets,
        definition: wanted.definition.clone(),
        next: wanted.next,
    };
    let payload = document(&plan)?;
    let subject = row.subject();
    // One change waits at a time: the newest.
    approvals::withdraw_on(tx, &subject, "another change was asked for")?;
    let request = Request {
        kind: Kind::SchedulePrompt,
        agent: owner.id,
        requester: agent,
        subject: &subject,
        description: &wanted.description,
        payload: &payload,
        key: change.key.as_deref(),
        asked,
    };
    Ok(approvals::request(tx, &request)?)
}
