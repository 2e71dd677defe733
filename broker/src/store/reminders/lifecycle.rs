//! What becomes of a reminder: each step with its event, in the caller's transaction.

use hive_proto::ids::{MessageId, ReminderId, UnixMs};
use hive_proto::v1::ReminderState;
use hive_proto::words;
use rusqlite::params;
use serde_json::{Value, json};

use super::row::{NewReminder, ReminderRow};
use crate::model::event::Kind;
use crate::model::reminder::State;
use crate::store::events::{self, About};
use crate::store::{StoreError, Tx};

/// Sets a reminder.
///
/// # Errors
/// When the row cannot be written, e.g. because the key is used.
pub fn insert(tx: &mut Tx<'_>, new: &NewReminder<'_>) -> Result<ReminderId, StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO reminders (agent_id, body, due_at, idem_key, state, set_at)
             VALUES (?1, ?2, ?3, ?4, 'pending', ?5)",
        )?
        .execute(params![
            new.agent.0,
            new.body,
            new.due_at.0,
            new.key,
            tx.now().0
        ])?;
    let id = ReminderId(tx.conn().last_insert_rowid());
    let data = json!({"id": id, "due_ms": new.due_at, "bytes": new.body.len()});
    events::append(tx, Kind::ReminderSet, About::agent(new.agent), &data)?;
    Ok(id)
}

/// Pending → fired, as that message.
///
/// # Errors
/// `Conflict` when it is not pending.
pub fn fire(tx: &mut Tx<'_>, row: &ReminderRow, message: MessageId) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'fired', message_id = ?2, not_before = NULL, error = '',
                 finished_at = ?3
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![row.id.0, message.0, tx.now().0])?;
    one(changed, row, "pending")?;
    let data = json!({"id": row.id, "message": message, "due_ms": row.due_at});
    note(tx, row, Kind::ReminderFired, &data)
}

/// Pending → pending or failed, after a try that failed.
///
/// # Errors
/// `Conflict` when it is not pending.
pub fn refuse(
    tx: &mut Tx<'_>,
    row: &ReminderRow,
    after: State,
    why: &str,
) -> Result<(), StoreError> {
    let (state, attempts, not_before) = match after {
        State::Failed { attempts } => (ReminderState::Failed, attempts, None),
        State::Pending {
            attempts,
            not_before,
        } => (ReminderState::Pending, attempts, not_before),
        State::Fired | State::Cancelled => {
            return Err(StoreError::Illegal(format!(
                "a refused reminder is {after:?}"
            )));
        }
    };
    let is_final = state == ReminderState::Failed;
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = ?2, attempts = ?3, not_before = ?4, error = ?5,
                 finished_at = ?6
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![
            row.id.0,
            words::reminder_state(state),
            attempts,
            not_before.map(|at| at.0),
            why,
            is_final.then_some(tx.now().0),
        ])?;
    one(changed, row, "pending")?;
    let data = json!({"id": row.id, "attempts": attempts, "why": why, "final": is_final,
        "not_before_ms": not_before});
    note(tx, row, Kind::ReminderFailed, &data)
}

/// Failed → pending, due at once, its tries forgotten.
///
/// # Errors
/// `Conflict` when it has not failed.
pub fn retry(tx: &mut Tx<'_>, row: &ReminderRow) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'pending', attempts = 0, finished_at = NULL
             WHERE id = ?1 AND state = 'failed'",
        )?
        .execute([row.id.0])?;
    one(changed, row, "failed")?;
    note(tx, row, Kind::ReminderRetried, &json!({"id": row.id}))
}

/// Pending or failed → cancelled.
///
/// # Errors
/// `Conflict` when it is neither.
pub fn cancel(tx: &mut Tx<'_>, row: &ReminderRow, by: &str) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'cancelled', not_before = NULL, finished_at = ?2
             WHERE id = ?1 AND state IN ('pending', 'failed')",
        )?
        .execute(params![row.id.0, tx.now().0])?;
    one(changed, row, "pending or failed")?;
    note(
        tx,
        row,
        Kind::ReminderCancelled,
        &json!({"id": row.id, "by": by}),
    )
}

/// Deletes at most `limit` reminders that fired or were cancelled before `before`; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM reminders WHERE id IN (
                 SELECT id FROM reminders WHERE finished_at < ?1
                 AND state IN ('fired', 'cancelled') ORDER BY finished_at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn one(changed: usize, row: &ReminderRow, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("reminder {}", row.id),
        expected,
    })
}

fn note(tx: &mut Tx<'_>, row: &ReminderRow, kind: Kind, data: &Value) -> Result<(), StoreError> {
    events::append(tx, kind, About::agent(row.agent), data)
}
