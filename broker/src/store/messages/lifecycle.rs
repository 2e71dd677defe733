//! One named function for each change of a message's state, each naming the state that it expects.

use hive_proto::ids::{MessageId, TurnId, UnixMs};
use rusqlite::params;
use serde_json::json;

use super::row::{Fate, NewMessage, filed_under, to_id};
use crate::model::event::Kind;
use crate::model::outcome::Finish;
use crate::store::events::{self, About};
use crate::store::{StoreError, Tx};

/// Queues a message and wakes its recipient.
///
/// # Errors
/// When the row cannot be written, e.g. because the key is used.
pub fn insert(tx: &mut Tx<'_>, new: &NewMessage<'_>) -> Result<MessageId, StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO messages
                 (sender, from_id, to_id, body, in_reply_to, idem_key, state, queued_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7)",
        )?
        .execute(params![
            new.from,
            new.from_id.map(|id| id.0),
            to_id(new.to),
            new.body,
            new.in_reply_to.map(|id| id.0),
            new.key,
            tx.now().0,
        ])?;
    let id = MessageId(tx.conn().last_insert_rowid());
    tx.wake(new.to);
    tx.room().added(new.to);
    let data = json!({"id": id, "from": new.from, "bytes": new.body.len(),
        "in_reply_to": new.in_reply_to});
    let about = About::message(id, filed_under(new.to, new.from_id));
    events::append(tx, Kind::MessageQueued, about, &data)?;
    Ok(id)
}

/// Leased under `turn` → acked.
///
/// # Errors
/// `Conflict` when it is not leased under that turn.
pub fn acknowledge(
    tx: &mut Tx<'_>,
    row: &Fate,
    turn: TurnId,
    how: Finish,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'acked', result = ?3, finished_at = ?4
             WHERE id = ?1 AND state = 'leased' AND turn_id = ?2",
        )?
        .execute(params![row.id.0, turn.0, how.word(), tx.now().0])?;
    one(changed, row.id, "leased under this turn")?;
    let data = json!({"id": row.id, "result": how.word(), "turn": turn});
    events::append(tx, Kind::MessageAcked, about(row), &data)
}

/// Leased under `turn` → queued at its place, with that many deaths; wakes its recipient.
///
/// # Errors
/// `Conflict` when it is not leased under that turn.
pub fn requeue(
    tx: &mut Tx<'_>,
    row: &Fate,
    turn: TurnId,
    attempt: u32,
    not_before: Option<UnixMs>,
    why: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'queued', attempt = ?3, not_before = ?4, redelivered = 1
             WHERE id = ?1 AND state = 'leased' AND turn_id = ?2",
        )?
        .execute(params![
            row.id.0,
            turn.0,
            attempt,
            not_before.map(|at| at.0)
        ])?;
    one(changed, row.id, "leased under this turn")?;
    tx.wake(row.to);
    let data = json!({"id": row.id, "why": why, "attempt": attempt, "not_before_ms": not_before});
    events::append(tx, Kind::MessageRequeued, about(row), &data)
}

/// Leased under `turn` → dead.
///
/// # Errors
/// `Conflict` when it is not leased under that turn.
pub fn bury(
    tx: &mut Tx<'_>,
    row: &Fate,
    turn: TurnId,
    attempt: u32,
    why: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'dead', attempt = ?3, result = ?4, finished_at = ?5
             WHERE id = ?1 AND state = 'leased' AND turn_id = ?2",
        )?
        .execute(params![row.id.0, turn.0, attempt, why, tx.now().0])?;
    one(changed, row.id, "leased under this turn")?;
    let data = json!({"id": row.id, "why": why, "attempt": attempt});
    events::append(tx, Kind::MessageDead, about(row), &data)
}

/// Queued → dead: nobody will ever take it.
///
/// # Errors
/// `Conflict` when it is not queued.
pub fn bury_queued(tx: &mut Tx<'_>, row: &Fate, attempt: u32, why: &str) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'dead', result = ?2, finished_at = ?3, not_before = NULL
             WHERE id = ?1 AND state = 'queued'",
        )?
        .execute(params![row.id.0, why, tx.now().0])?;
    one(changed, row.id, "queued")?;
    let data = json!({"id": row.id, "why": why, "attempt": attempt});
    events::append(tx, Kind::MessageDead, about(row), &data)
}

/// Dead → queued at its place, its deaths forgotten; wakes its recipient.
///
/// # Errors
/// `Conflict` when it is not dead.
pub fn revive(tx: &mut Tx<'_>, row: &Fate) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'queued', attempt = 0, not_before = NULL, redelivered = 1,
                 result = '', finished_at = NULL, stalled_at = NULL
             WHERE id = ?1 AND state = 'dead'",
        )?
        .execute([row.id.0])?;
    one(changed, row.id, "dead")?;
    tx.wake(row.to);
    tx.room().added(row.to);
    events::append(tx, Kind::MessageRevived, about(row), &json!({"id": row.id}))
}

/// Queued for the operator → acked as read.
///
/// # Errors
/// `Conflict` when it is not a queued message to the operator.
pub fn mark_read(tx: &mut Tx<'_>, row: &Fate) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'acked', result = ?2, finished_at = ?3
             WHERE id = ?1 AND state = 'queued' AND to_id IS NULL",
        )?
        .execute(params![row.id.0, Finish::Read.word(), tx.now().0])?;
    one(changed, row.id, "unread mail of the operator")?;
    let data = json!({"id": row.id, "result": Finish::Read.word(), "turn": null});
    events::append(tx, Kind::MessageAcked, about(row), &data)
}

/// Notes that nobody has taken it for too long.
///
/// # Errors
/// `Conflict` when it is not queued or was noted before.
pub fn mark_stalled(tx: &mut Tx<'_>, row: &Fate) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET stalled_at = ?2
             WHERE id = ?1 AND state = 'queued' AND stalled_at IS NULL",
        )?
        .execute(params![row.id.0, tx.now().0])?;
    one(changed, row.id, "queued and unnoticed")?;
    let data = json!({"id": row.id, "since_ms": row.queued_at});
    events::append(tx, Kind::MessageStalled, about(row), &data)
}

/// Deletes at most `limit` messages that were acked before `before`, or that died then and that nobody
/// can put back because their recipient was purged; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM messages WHERE id IN (
                 SELECT id FROM messages WHERE finished_at < ?1 AND (state = 'acked'
                     OR EXISTS (SELECT 1 FROM agents WHERE agents.id = to_id AND purged = 1))
                 ORDER BY finished_at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn about(row: &Fate) -> About {
    About::message(row.id, filed_under(row.to, row.from_id))
}

pub(super) fn one(changed: usize, id: MessageId, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("message {id}"),
        expected,
    })
}
