//! Popping: strictly first in, first out for each recipient.
//!
//! The index of the queue is named in each statement: left to itself, SQLite prefers that of the whole
//! mailbox, and every pop would read all that was ever acked.

use hive_proto::ids::{AgentId, Epoch, MessageId, TurnId, UnixMs};
use hive_proto::limits::RECV_BYTES;
use hive_proto::v1::MessageState;
use rusqlite::{Connection, params};
use serde_json::json;

use super::lifecycle::one;
use super::row::{COLUMNS, FATE, Fate, MessageRow, mailbox, read, read_fate};
use crate::model::event::Kind;
use crate::model::message::Delivery;
use crate::store::events::{self, About};
use crate::store::sessions::sql;
use crate::store::{Recipient, StoreError, Tx};

const COUNT: &str = "SELECT COUNT(*) FROM messages INDEXED BY messages_queue
     WHERE COALESCE(to_id, 0) = ?1 AND state = 'queued'";

/// What a pop found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popped {
    /// At least one row, oldest first, and how many are queued behind.
    Rows {
        rows: Vec<MessageRow>,
        remaining: u32,
    },
    /// The head of the queue is in back-off until then.
    Later(UnixMs),
    Empty,
}

/// Queued → leased, from the head on: at most `max` rows and [`RECV_BYTES`] of bodies, up to the
/// first one that is in back-off. `turn` is asked for the turn once there is a first row.
///
/// # Errors
/// When the rows cannot be read or written, or `turn` fails.
pub fn lease(
    tx: &mut Tx<'_>,
    agent: AgentId,
    epoch: Epoch,
    max: u32,
    turn: impl FnOnce(&mut Tx<'_>, MessageId) -> Result<TurnId, StoreError>,
) -> Result<Popped, StoreError> {
    let (mut rows, later) = head(tx, agent, max)?;
    let Some(first) = rows.first() else {
        return Ok(later.map_or(Popped::Empty, Popped::Later));
    };
    let turn = turn(tx, first.id)?;
    for row in &mut rows {
        take(tx, row, agent, turn, epoch)?;
    }
    let remaining = queued(tx.conn(), Recipient::Agent(agent))?;
    Ok(Popped::Rows { rows, remaining })
}

/// Queued → leased under an open turn, out of its order: for a turn that waits for this very message.
///
/// # Errors
/// `Conflict` when it is not queued.
pub fn lease_one(
    tx: &mut Tx<'_>,
    row: &mut MessageRow,
    agent: AgentId,
    turn: TurnId,
    epoch: Epoch,
) -> Result<(), StoreError> {
    take(tx, row, agent, turn, epoch)
}

/// Every row that is leased under a turn, oldest first, with its body.
///
/// # Errors
/// When the table cannot be read.
pub fn leased_under(
    conn: &Connection,
    agent: AgentId,
    turn: TurnId,
) -> Result<Vec<MessageRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM messages
         WHERE to_id = ?1 AND turn_id = ?2 AND state = 'leased' ORDER BY id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([agent.0, turn.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The same rows without their bodies, to settle them.
///
/// # Errors
/// When the table cannot be read.
pub fn fates_under(
    conn: &Connection,
    agent: AgentId,
    turn: TurnId,
) -> Result<Vec<Fate>, StoreError> {
    let sql = format!(
        "SELECT {FATE} FROM messages
         WHERE to_id = ?1 AND turn_id = ?2 AND state = 'leased' ORDER BY id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([agent.0, turn.0], read_fate)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Notes that a leased row is handed to its holder once more.
///
/// # Errors
/// `Conflict` when it is not leased under that turn.
pub fn mark_rehanded(
    tx: &mut Tx<'_>,
    row: &mut MessageRow,
    agent: AgentId,
    turn: TurnId,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET redelivered = 1
             WHERE id = ?1 AND state = 'leased' AND turn_id = ?2",
        )?
        .execute([row.id.0, turn.0])?;
    one(changed, row.id, "leased under this turn")?;
    row.delivery = Delivery::Again;
    let data = json!({"id": row.id, "turn": turn});
    let about = About::message(row.id, Some(agent));
    events::append(tx, Kind::MessageRehanded, about, &data)
}

/// How many unfinished rows a mailbox holds when one more would be more than `most`; none when it fits.
///
/// # Errors
/// When the table cannot be read.
pub fn full(tx: &Tx<'_>, to: Recipient, most: u32) -> Result<Option<u32>, StoreError> {
    if tx.room().fits(to, most) {
        return Ok(None);
    }
    let rows = unfinished(tx.conn(), to)?;
    tx.room().counted(to, rows);
    Ok((rows >= most).then_some(rows))
}

/// Rows of a mailbox that are neither acked nor dead.
///
/// # Errors
/// When the table cannot be read.
fn unfinished(conn: &Connection, recipient: Recipient) -> Result<u32, StoreError> {
    let leased: u32 = match recipient {
        Recipient::Operator => 0,
        Recipient::Agent(id) => conn
            .prepare_cached("SELECT COUNT(*) FROM messages WHERE to_id = ?1 AND state = 'leased'")?
            .query_row([id.0], |row| row.get(0))?,
    };
    Ok(queued(conn, recipient)? + leased)
}

/// Rows that wait in a mailbox.
///
/// # Errors
/// When the table cannot be read.
pub fn queued(conn: &Connection, recipient: Recipient) -> Result<u32, StoreError> {
    let count = conn
        .prepare_cached(COUNT)?
        .query_row([mailbox(recipient)], |row| row.get(0))?;
    Ok(count)
}

/// The same rows without their bodies, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn queued_fates(conn: &Connection, recipient: Recipient) -> Result<Vec<Fate>, StoreError> {
    let sql = fates_sql();
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([mailbox(recipient)], read_fate)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The rows that may be taken now; when there is none, the time that the head waits for.
fn head(
    tx: &Tx<'_>,
    agent: AgentId,
    max: u32,
) -> Result<(Vec<MessageRow>, Option<UnixMs>), StoreError> {
    let sql = head_sql();
    let mut statement = tx.conn().prepare_cached(&sql)?;
    let mut found = statement.query_map(params![agent.0, max], read)?;
    let mut rows: Vec<MessageRow> = Vec::new();
    let mut bytes = 0;
    while let Some(row) = found.next().transpose()? {
        if !tx.retry().is_due(row.not_before, tx.now()) {
            return Ok((rows, row.not_before));
        }
        bytes += row.body.len();
        if bytes > RECV_BYTES && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    Ok((rows, None))
}

fn take(
    tx: &mut Tx<'_>,
    row: &mut MessageRow,
    agent: AgentId,
    turn: TurnId,
    epoch: Epoch,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE messages SET state = 'leased', turn_id = ?2, epoch = ?3, leased_at = ?4,
                 not_before = NULL, stalled_at = NULL
             WHERE id = ?1 AND state = 'queued'",
        )?
        .execute(params![row.id.0, turn.0, sql(epoch), tx.now().0])?;
    one(changed, row.id, "queued")?;
    row.state = MessageState::Leased;
    row.turn = Some(turn);
    row.leased_at = Some(tx.now());
    row.not_before = None;
    let data = json!({"id": row.id, "turn": turn, "epoch": epoch, "attempt": row.attempt,
        "redelivered": row.delivery == Delivery::Again});
    events::append(
        tx,
        Kind::MessageLeased,
        About::message(row.id, Some(agent)),
        &data,
    )
}

fn fates_sql() -> String {
    format!(
        "SELECT {FATE} FROM messages INDEXED BY messages_queue
         WHERE COALESCE(to_id, 0) = ?1 AND state = 'queued' ORDER BY id"
    )
}

fn head_sql() -> String {
    format!(
        "SELECT {COLUMNS} FROM messages INDEXED BY messages_queue
         WHERE COALESCE(to_id, 0) = ?1 AND state = 'queued' ORDER BY id LIMIT ?2"
    )
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
