//! The `intents` table: effects of approved requests, each carried out once.

use hive_proto::ids::ApprovalId;
use rusqlite::{Connection, Row, params};

use super::{StoreError, Tx};
use crate::model::approval::Carried;

/// An effect that is still to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentRow {
    pub id: i64,
    pub approval: ApprovalId,
    pub effect: String,
    pub tries: u32,
    /// Why the last try failed; empty before the first one.
    pub last_error: String,
}

/// Records an effect, in the transaction of the decision.
///
/// # Errors
/// When the row cannot be written.
pub fn insert(tx: &Tx<'_>, approval: ApprovalId, effect: &str) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO intents (approval_id, effect, state, created_at)
             VALUES (?1, ?2, 'pending', ?3)",
        )?
        .execute(params![approval.0, effect, tx.now().0])?;
    Ok(())
}

/// At most `limit` that are not carried out yet, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn pending(conn: &Connection, limit: u32) -> Result<Vec<IntentRow>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT id, approval_id, effect, tries, last_error FROM intents
         WHERE state = 'pending' ORDER BY id LIMIT ?1",
    )?;
    let rows = statement.query_map([limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Closes it, in the transaction of its effect.
///
/// # Errors
/// `Conflict` when it was closed before.
pub fn finish(
    tx: &Tx<'_>,
    row: &IntentRow,
    carried: Carried,
    error: &str,
) -> Result<(), StoreError> {
    let state = match carried {
        Carried::Done => "done",
        Carried::Failed => "failed",
    };
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE intents SET state = ?2, last_error = ?3, tries = tries + 1, finished_at = ?4
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![row.id, state, error, tx.now().0])?;
    if changed == 0 {
        return Err(StoreError::Conflict {
            what: format!("intent {}", row.id),
            expected: "pending",
        });
    }
    Ok(())
}

/// Notes that a try failed for a reason that may pass.
///
/// # Errors
/// When the row cannot be written.
pub fn note_failure(tx: &Tx<'_>, id: i64, error: &str) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "UPDATE intents SET tries = tries + 1, last_error = ?2
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![id, error])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<IntentRow> {
    Ok(IntentRow {
        id: row.get(0)?,
        approval: ApprovalId(row.get(1)?),
        effect: row.get(2)?,
        tries: row.get(3)?,
        last_error: row.get(4)?,
    })
}
