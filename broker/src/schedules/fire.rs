//! Firing by hand: one slot beside the timetable. It is the only one of a schedule that fires once.

use hive_proto::ids::{ScheduleId, UnixMs};

use super::authority::{Actor, own, own_active};
use super::error::ScheduleError;
use super::settle::{Origin, Slot, settle_slot};
use crate::approvals;
use crate::inbox::Limits;
use crate::model::schedule::Timing;
use crate::store::Tx;
use crate::store::schedules::{self as table, OccurrenceRow, ScheduleRow};

/// Fires now; a call with the same key is the same call. Says what became of each target.
pub(super) fn fire_now(
    tx: &mut Tx<'_>,
    limits: Limits,
    actor: Actor,
    id: ScheduleId,
    key: Option<&str>,
) -> Result<Vec<OccurrenceRow>, ScheduleError> {
    if let Some(key) = key {
        own(tx.conn(), actor, id)?;
        let before = table::by_key(tx.conn(), id, key)?;
        if !before.is_empty() {
            return Ok(before);
        }
    }
    let row = own_active(tx.conn(), actor, id)?;
    if let Timing::Once { .. } = row.definition.timing {
        table::advance(tx, &row, None)?;
        approvals::withdraw_on(tx, &row.subject(), "its schedule has fired")?;
    }
    let targets = table::targets(tx.conn(), id)?;
    let at = free_slot(tx, &row)?;
    let slot = Slot {
        at,
        skip: None,
        note: "fired by hand",
        origin: Origin::Hand(key),
    };
    settle_slot(tx, limits, &row, &targets, slot)?;
    Ok(table::of_slot(tx.conn(), id, at)?)
}

/// A moment now that is no slot: those of timetables lie on whole seconds.
fn free_slot(tx: &Tx<'_>, row: &ScheduleRow) -> Result<UnixMs, ScheduleError> {
    let mut at = tx.now();
    loop {
        if at.0.rem_euclid(1000) == 0 {
            at = at.plus_ms(1);
        }
        if table::of_slot(tx.conn(), row.id, at)?.is_empty() {
            return Ok(at);
        }
        at = at.plus_ms(1);
    }
}
