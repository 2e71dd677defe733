//! Ending a schedule, or taking targets out of it.

use hive_proto::ids::ScheduleId;

use super::authority::{Actor, own};
use super::edit::named;
use super::error::ScheduleError;
use crate::approvals;
use crate::model::schedule::State;
use crate::store::schedules::{self as table, Membership};
use crate::store::{StoreError, Tx};

/// Ends the whole schedule, or takes these targets out; one without targets is ended. Ending twice
/// is the same as once.
///
/// # Errors
/// When it is not the actor's or has ended; the store's failure.
pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    actor: Actor,
    id: ScheduleId,
    names: &[String],
) -> Result<(), ScheduleError> {
    let row = own(tx.conn(), actor, id)?;
    match row.state {
        State::Active => {}
        State::Cancelled => return Ok(()),
        State::Done => {
            return Err(ScheduleError::NotActive {
                id,
                state: row.state,
            });
        }
    }
    if names.is_empty() {
        return Ok(end(tx, id, "cancelled")?);
    }
    let targets = table::targets(tx.conn(), id)?;
    let remove = named(&row, &targets, names)?;
    for target in &remove {
        table::remove_target(tx, id, *target)?;
    }
    approvals::withdraw_on(tx, &row.subject(), "the schedule was changed meanwhile")?;
    let left = targets
        .iter()
        .filter(|target| target.membership == Membership::Active)
        .any(|target| !remove.contains(&target.id));
    if left {
        let (definition, next) = (&row.definition, row.next.unwrap_or(tx.now()));
        table::redefine(tx, &row, definition, &row.description, next, row.approval)?;
    } else {
        end(tx, id, "none of its targets is left")?;
    }
    Ok(())
}

/// Ends an active schedule, and what waits to change it.
///
/// # Errors
/// `Conflict` when it is not active.
pub(super) fn end(tx: &mut Tx<'_>, id: ScheduleId, why: &str) -> Result<(), StoreError> {
    let Some(row) = table::find(tx.conn(), id)? else {
        return Ok(());
    };
    table::cancel(tx, &row, why)?;
    approvals::withdraw_on(tx, &row.subject(), "its schedule was cancelled")
}

/// Ends the schedules of purged agents and takes purged agents out of others; counts both.
///
/// # Errors
/// When the rows cannot be read or written.
pub(crate) fn drop_purged(tx: &mut Tx<'_>) -> Result<usize, StoreError> {
    let mut dropped = 0;
    for row in table::abandoned(tx.conn())? {
        end(tx, row.id, "its owner was purged")?;
        dropped += 1;
    }
    for (schedule, target) in table::purged_targets(tx.conn())? {
        table::remove_target(tx, schedule, target)?;
        dropped += 1;
        let left = table::targets(tx.conn(), schedule)?;
        if left
            .iter()
            .all(|target| target.membership != Membership::Active)
        {
            end(tx, schedule, "none of its targets is left")?;
        }
    }
    Ok(dropped)
}
