//! Schedules change: made, edited, moved to their next slot, cancelled, forgotten.

use hive_proto::ids::{AgentId, ApprovalId, ScheduleId, UnixMs};
use rusqlite::params;
use serde_json::json;

use super::row::{Definition, NewSchedule, Owner, ScheduleRow, TimingColumns};
use super::targets::add_target;
use crate::model::event::Kind;
use crate::model::schedule::{Event, State, next};
use crate::store::events::{self, About};
use crate::store::{StoreError, Tx};

/// Stores a schedule with its targets.
///
/// # Errors
/// When the rows cannot be written.
pub fn insert(tx: &mut Tx<'_>, new: &NewSchedule<'_>) -> Result<ScheduleId, StoreError> {
    let timing = TimingColumns::from(&new.definition.timing);
    let id = tx
        .conn()
        .prepare_cached(
            "INSERT INTO schedules (owner_id, approval_id, body, description, timing, first_at,
                 interval_secs, cron, tz, misfire, overlap, next_fire_at, state, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'active', ?13)
             RETURNING id",
        )?
        .query_row(
            params![
                new.owner.id(),
                new.approval.map(|id| id.0),
                new.definition.body,
                new.description,
                timing.word,
                timing.first,
                timing.interval,
                timing.cron,
                timing.zone,
                new.definition.misfire.word(),
                new.definition.overlap.word(),
                new.next.0,
                tx.now().0,
            ],
            |row| row.get(0),
        )
        .map(ScheduleId)?;
    for target in new.targets {
        add_target(tx, id, *target)?;
    }
    let data = json!({"id": id, "targets": new.targets, "next_fire_at_ms": new.next,
        "approval": new.approval});
    events::append(tx, Kind::ScheduleCreated, about(new.owner), &data)?;
    Ok(id)
}

/// Gives it another definition, description and next slot; its version grows.
///
/// # Errors
/// `Conflict` when it is not the active version that `row` is.
pub fn redefine(
    tx: &mut Tx<'_>,
    row: &ScheduleRow,
    definition: &Definition,
    description: &str,
    next: UnixMs,
    approval: Option<ApprovalId>,
) -> Result<(), StoreError> {
    let timing = TimingColumns::from(&definition.timing);
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE schedules SET body = ?3, description = ?4, timing = ?5, first_at = ?6,
                 interval_secs = ?7, cron = ?8, tz = ?9, misfire = ?10, overlap = ?11,
                 next_fire_at = ?12, approval_id = ?13, version = version + 1
             WHERE id = ?1 AND version = ?2 AND state = 'active'",
        )?
        .execute(params![
            row.id.0,
            row.version,
            definition.body,
            description,
            timing.word,
            timing.first,
            timing.interval,
            timing.cron,
            timing.zone,
            definition.misfire.word(),
            definition.overlap.word(),
            next.0,
            approval.map(|id| id.0),
        ])?;
    one(changed, row, "the active version")?;
    let data = json!({"id": row.id, "version": row.version + 1, "next_fire_at_ms": next,
        "approval": approval});
    events::append(tx, Kind::ScheduleEdited, about(row.owner), &data)
}

/// Moves it from the slot that `row` names to the next one, or to its end.
///
/// # Errors
/// `Conflict` when that slot was settled by somebody else, or it was edited meanwhile.
pub fn advance(tx: &Tx<'_>, row: &ScheduleRow, slot: Option<UnixMs>) -> Result<(), StoreError> {
    let state = match slot {
        Some(_) => row.state,
        None => after(row, Event::Spent)?,
    };
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE schedules SET next_fire_at = ?4, state = ?5,
                 finished_at = CASE WHEN ?4 IS NULL THEN ?6 END
             WHERE id = ?1 AND version = ?2 AND next_fire_at = ?3 AND state = 'active'",
        )?
        .execute(params![
            row.id.0,
            row.version,
            row.next.map(|at| at.0),
            slot.map(|at| at.0),
            state.word(),
            tx.now().0,
        ])?;
    one(changed, row, "at that slot")
}

/// Ends it.
///
/// # Errors
/// `Conflict` when it is not active.
pub fn cancel(tx: &mut Tx<'_>, row: &ScheduleRow, why: &str) -> Result<(), StoreError> {
    let state = after(row, Event::Cancelled)?;
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE schedules SET state = ?2, next_fire_at = NULL, finished_at = ?3
             WHERE id = ?1 AND state = 'active'",
        )?
        .execute(params![row.id.0, state.word(), tx.now().0])?;
    one(changed, row, "active")?;
    let data = json!({"id": row.id, "why": why});
    events::append(tx, Kind::ScheduleCancelled, about(row.owner), &data)
}

/// Deletes at most `limit` that ended before `before`, with all they had; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM schedules WHERE id IN (
                 SELECT id FROM schedules WHERE finished_at < ?1 ORDER BY finished_at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

/// Whose events they are.
pub(super) fn about(owner: Owner) -> About {
    match owner {
        Owner::Operator => About::default(),
        Owner::Agent(id) => About::agent(AgentId(id.0)),
    }
}

fn after(row: &ScheduleRow, event: Event) -> Result<State, StoreError> {
    next(row.state, event).map_err(|_| conflict(row, "active"))
}

fn one(changed: usize, row: &ScheduleRow, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(conflict(row, expected))
}

fn conflict(row: &ScheduleRow, expected: &'static str) -> StoreError {
    StoreError::Conflict {
        what: format!("schedule {}", row.id),
        expected,
    }
}
