//! Looking at messages without changing anything.

use std::collections::HashMap;

use hive_proto::ids::{AgentId, MessageId, TurnId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::row::{COLUMNS, FATE, Fate, MessageRow, mailbox, read, read_fate, to_id};
use crate::store::{Recipient, StoreError};

/// The message that an idempotency key was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    None,
    Same(MessageId),
    /// With another body.
    Other(MessageId),
}

/// Which rows of a mailbox are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Everything,
    /// Queued and leased rows.
    Unfinished,
}

/// One message.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM messages WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// One message without its body.
///
/// # Errors
/// When the table cannot be read.
pub fn fate(conn: &Connection, id: MessageId) -> Result<Option<Fate>, StoreError> {
    let sql = format!("SELECT {FATE} FROM messages WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read_fate)
        .optional()?;
    Ok(row)
}

/// What a sender used an idempotency key for, in one mailbox.
///
/// # Errors
/// When the table cannot be read.
pub fn by_key(
    conn: &Connection,
    to: Recipient,
    from: &str,
    key: &str,
    body: &str,
) -> Result<Earlier, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT id, body = ?4 FROM messages
             WHERE COALESCE(to_id, 0) = ?1 AND sender = ?2 AND idem_key = ?3",
        )?
        .query_row(params![mailbox(to), from, key, body], |row| {
            Ok((MessageId(row.get(0)?), row.get::<_, bool>(1)?))
        })
        .optional()?;
    Ok(match found {
        None => Earlier::None,
        Some((id, true)) => Earlier::Same(id),
        Some((id, false)) => Earlier::Other(id),
    })
}

/// The newest message from `from` that is leased under the turn: what a send to `from` replies to.
///
/// # Errors
/// When the table cannot be read.
pub fn from_under(
    conn: &Connection,
    holder: AgentId,
    turn: TurnId,
    from: Recipient,
) -> Result<Option<MessageId>, StoreError> {
    let id = conn
        .prepare_cached(
            "SELECT MAX(id) FROM messages
             WHERE to_id = ?1 AND turn_id = ?2 AND state = 'leased'
             AND from_id IS ?3 AND (?3 IS NOT NULL OR sender = 'operator')",
        )?
        .query_row(params![holder.0, turn.0, to_id(from)], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
    Ok(id.map(MessageId))
}

/// Whether a message from `from` with that body waits in a mailbox.
///
/// # Errors
/// When the table cannot be read.
pub fn is_queued(
    conn: &Connection,
    to: Recipient,
    from: &str,
    body: &str,
) -> Result<bool, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_queue
             WHERE COALESCE(to_id, 0) = ?1 AND state = 'queued' AND sender = ?2 AND body = ?3)",
        )?
        .query_row(params![mailbox(to), from, body], |row| row.get(0))?;
    Ok(found)
}

/// The newest `limit` rows of a mailbox, newest last.
///
/// # Errors
/// When the table cannot be read.
pub fn inbox(
    conn: &Connection,
    recipient: Recipient,
    listing: Listing,
    limit: u32,
) -> Result<Vec<MessageRow>, StoreError> {
    let which = match listing {
        Listing::Everything => "",
        Listing::Unfinished => "AND state IN ('queued', 'leased')",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM messages
         WHERE COALESCE(to_id, 0) = ?1 {which} ORDER BY id DESC LIMIT ?2"
    );
    let mut rows = all(conn, &sql, params![mailbox(recipient), limit])?;
    rows.reverse();
    Ok(rows)
}

/// Messages that name this one in `in_reply_to`, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn replies(conn: &Connection, id: MessageId) -> Result<Vec<MessageRow>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM messages WHERE in_reply_to = ?1 ORDER BY id LIMIT 100");
    all(conn, &sql, [id.0])
}

/// The dead letters, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn dead(conn: &Connection) -> Result<Vec<MessageRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM messages WHERE state = 'dead' ORDER BY id LIMIT 1000");
    all(conn, &sql, [])
}

/// The dead letters that can be put back: those whose recipient was not purged. Oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn dead_to_requeue(conn: &Connection) -> Result<Vec<MessageRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM messages WHERE state = 'dead'
         AND NOT EXISTS (SELECT 1 FROM agents WHERE agents.id = to_id AND purged = 1)
         ORDER BY id LIMIT 1000"
    );
    all(conn, &sql, [])
}

/// At most `limit` messages to agents that nobody has taken since `before`, not noted yet.
///
/// # Errors
/// When the table cannot be read.
pub fn stalled(conn: &Connection, before: UnixMs, limit: u32) -> Result<Vec<Fate>, StoreError> {
    let sql = format!(
        "SELECT {FATE} FROM messages
         WHERE state = 'queued' AND to_id IS NOT NULL AND stalled_at IS NULL AND sender <> 'system'
         AND COALESCE(leased_at, queued_at) < ?1 ORDER BY id LIMIT ?2"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![before.0, limit], read_fate)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Queued rows of every agent that has some, and the oldest that is noted as stalled, if any.
///
/// # Errors
/// When the table cannot be read.
pub fn unread_counts(conn: &Connection) -> Result<HashMap<AgentId, Unread>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT to_id, COUNT(*), MIN(CASE WHEN stalled_at IS NOT NULL THEN queued_at END)
         FROM messages WHERE state = 'queued' AND to_id IS NOT NULL GROUP BY to_id",
    )?;
    let rows = statement.query_map([], |row| {
        let unread = Unread {
            queued: row.get(1)?,
            stalled_since: row.get::<_, Option<i64>>(2)?.map(UnixMs),
        };
        Ok((AgentId(row.get(0)?), unread))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What waits in a mailbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    pub queued: u32,
    pub stalled_since: Option<UnixMs>,
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<MessageRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
