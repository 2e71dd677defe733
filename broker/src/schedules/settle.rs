//! Settling slots: the messages, the rows that say what became of each slot, and the step to the
//! next one share one transaction, so whatever crashes, a slot fires at most once.

use hive_proto::ids::{AgentId, UnixMs};

use crate::inbox::{InboxError, Limits, post_scheduled};
use crate::model::message::State as MessageState;
use crate::model::schedule::{Due, Overlap, Skip};
use crate::store::messages;
use crate::store::schedules::{
    self as table, Membership, NewOccurrence, Owner, ScheduleRow, Settled, TargetRow,
};
use crate::store::{StoreError, Tx};

/// How many slots fired and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) fired: usize,
    pub(super) skipped: usize,
}

/// A slot to be settled for every target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    pub(super) at: UnixMs,
    /// Why it does not fire for anybody.
    pub(super) skip: Option<Skip>,
    /// Why it fires out of its time; empty when it does not.
    pub(super) note: &'a str,
    pub(super) origin: Origin<'a>,
}

/// Why there is this slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin<'a> {
    Timetable,
    /// By hand, by a call with this key.
    Hand(Option<&'a str>),
}

/// Settles what was found due of the version that `row` is; none when another one was there first.
pub(super) fn settle_due(
    tx: &mut Tx<'_>,
    limits: Limits,
    row: &ScheduleRow,
    due: &Due,
) -> Result<Option<Counts>, StoreError> {
    match table::advance(tx, row, due.next) {
        Ok(()) => {}
        Err(StoreError::Conflict { .. }) => return Ok(None),
        Err(failure) => return Err(failure),
    }
    let targets = table::targets(tx.conn(), row.id)?;
    let mut counts = Counts::default();
    for missed in &due.missed {
        let settled = Settled::Skipped {
            reason: missed_reason(missed.slots),
        };
        for target in targets.iter().filter(|target| is_active(target)) {
            let new = NewOccurrence {
                target: target.id,
                slot: missed.slot,
                settled: &settled,
                slots: missed.slots,
                extra: false,
                key: None,
            };
            counts.skipped += usize::from(write(tx, row, &new)?);
        }
    }
    let note = match due.missed.is_empty() {
        true => "",
        false => "late: it stands for those that were missed",
    };
    let slot = Slot {
        at: due.slot,
        skip: due.skip,
        note,
        origin: Origin::Timetable,
    };
    let settled = settle_slot(tx, limits, row, &targets, slot)?;
    counts.fired += settled.fired;
    counts.skipped += settled.skipped;
    Ok(Some(counts))
}

fn missed_reason(slots: u64) -> String {
    match slots {
        1 => Skip::Missed.reason().to_owned(),
        more => format!("{} ({more} slots from this one on)", Skip::Missed.reason()),
    }
}

/// Settles one slot for every target, and closes those that were taken out since the last one.
pub(super) fn settle_slot(
    tx: &mut Tx<'_>,
    limits: Limits,
    row: &ScheduleRow,
    targets: &[TargetRow],
    slot: Slot<'_>,
) -> Result<Counts, StoreError> {
    let mut counts = Counts::default();
    for target in targets {
        let settled = match target.membership {
            Membership::Removed { closed: true } => continue,
            Membership::Removed { closed: false } => {
                if slot.origin != Origin::Timetable {
                    continue;
                }
                table::close_target(tx, row.id, target.id)?;
                skipped(Skip::TargetRemoved)
            }
            Membership::Active => {
                if table::is_settled(tx.conn(), row.id, target.id, slot.at)? {
                    continue;
                }
                fire(tx, limits, row, target, slot)?
            }
        };
        let (extra, key) = match slot.origin {
            Origin::Timetable => (false, None),
            Origin::Hand(key) => (true, key),
        };
        let new = NewOccurrence {
            target: target.id,
            slot: slot.at,
            settled: &settled,
            slots: 1,
            extra,
            key,
        };
        if write(tx, row, &new)? {
            match settled {
                Settled::Fired { .. } => counts.fired += 1,
                Settled::Skipped { .. } => counts.skipped += 1,
            }
        }
    }
    Ok(counts)
}

fn fire(
    tx: &mut Tx<'_>,
    limits: Limits,
    row: &ScheduleRow,
    target: &TargetRow,
    slot: Slot<'_>,
) -> Result<Settled, StoreError> {
    if let Some(skip) = slot.skip {
        return Ok(skipped(skip));
    }
    if !row.owner_living {
        return Ok(skipped(Skip::OwnerGone));
    }
    if !target.living {
        return Ok(skipped(Skip::TargetGone));
    }
    if slot.origin == Origin::Timetable && overlaps(tx, row, target)? {
        return Ok(skipped(Skip::Overlap));
    }
    let key = format!("schedule:{}:{}", row.id, slot.at.0);
    let body = &row.definition.body;
    let from = (row.owner_name.as_str(), sender(row.owner));
    match post_scheduled(tx, limits, from, (target.id, &target.name), body, &key) {
        Ok(message) => Ok(Settled::Fired {
            message,
            reason: slot.note.to_owned(),
        }),
        Err(InboxError::MailboxFull { .. }) => Ok(skipped(Skip::MailboxFull)),
        Err(InboxError::KeyConflict(_)) => Ok(skipped(Skip::KeyTaken)),
        Err(InboxError::Store(failure)) => Err(failure),
        Err(other) => Ok(Settled::Skipped {
            reason: other.to_string(),
        }),
    }
}

/// Whether the last message is still on its way and the schedule does not pile up.
fn overlaps(tx: &Tx<'_>, row: &ScheduleRow, target: &TargetRow) -> Result<bool, StoreError> {
    let Some(last) = target.last_message else {
        return Ok(false);
    };
    if row.definition.overlap == Overlap::Queue {
        return Ok(false);
    }
    let state = messages::fate(tx.conn(), last)?.map(|fate| fate.state);
    Ok(matches!(
        state,
        Some(MessageState::Queued { .. } | MessageState::Leased { .. })
    ))
}

/// Whether a row was written; a slot that was settled before stays as it is.
fn write(tx: &mut Tx<'_>, row: &ScheduleRow, new: &NewOccurrence<'_>) -> Result<bool, StoreError> {
    match table::settle(tx, row, new) {
        Ok(()) => Ok(true),
        Err(StoreError::Conflict { .. }) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn skipped(skip: Skip) -> Settled {
    Settled::Skipped {
        reason: skip.reason().to_owned(),
    }
}

fn sender(owner: Owner) -> Option<AgentId> {
    match owner {
        Owner::Operator => None,
        Owner::Agent(id) => Some(id),
    }
}

fn is_active(target: &TargetRow) -> bool {
    target.membership == Membership::Active
}
