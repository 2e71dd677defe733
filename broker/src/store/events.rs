//! The `events` table: what happened, appended in the transaction that made it happen.

use hive_proto::ids::{AgentId, EventSeq, MessageId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::{StoreError, Tx};
use crate::model::event::Kind;

/// What an event is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub agent: Option<AgentId>,
    pub message: Option<MessageId>,
}

/// One stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    pub seq: EventSeq,
    pub at: UnixMs,
    pub kind: String,
    /// The agent's name at the time; empty when it is about none.
    pub agent: String,
    /// A JSON object.
    pub data: String,
}

// === impl About ===

impl About {
    /// About an agent.
    #[must_use]
    pub fn agent(agent: AgentId) -> Self {
        Self {
            agent: Some(agent),
            message: None,
        }
    }

    /// About a message, and the agent whose it is, if any.
    #[must_use]
    pub fn message(message: MessageId, agent: Option<AgentId>) -> Self {
        Self {
            agent,
            message: Some(message),
        }
    }
}

/// Appends one event. `data` is an object that holds no message's body.
///
/// # Errors
/// When the row cannot be written.
pub fn append(tx: &mut Tx<'_>, kind: Kind, about: About, data: &Value) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO events (at, kind, agent_id, agent, message_id, data)
             VALUES (?1, ?2, ?3, COALESCE((SELECT name FROM agents WHERE id = ?3), ''), ?4, ?5)",
        )?
        .execute(params![
            tx.now().0,
            kind.word(),
            about.agent.map(|id| id.0),
            about.message.map(|id| id.0),
            data.to_string(),
        ])?;
    tx.mark_evented();
    Ok(())
}

/// The time of the newest event from before `at`; none when there is none.
///
/// # Errors
/// When the table cannot be read.
pub fn newest_before(conn: &Connection, at: UnixMs) -> Result<Option<UnixMs>, StoreError> {
    let newest: Option<i64> = conn
        .prepare_cached("SELECT MAX(at) FROM events WHERE at < ?1")?
        .query_row([at.0], |row| row.get(0))?;
    Ok(newest.map(UnixMs))
}

/// The newest event's number; 0 when there is none.
///
/// # Errors
/// When the table cannot be read.
pub fn last_seq(conn: &Connection) -> Result<EventSeq, StoreError> {
    let seq = conn
        .prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM events")?
        .query_row([], |row| row.get(0))?;
    Ok(EventSeq(seq))
}

/// At most `limit` events after `after` up to and including `upto`, oldest first; of one agent when
/// `agent` is not empty.
///
/// # Errors
/// When the table cannot be read.
pub fn between(
    conn: &Connection,
    after: EventSeq,
    upto: EventSeq,
    agent: &str,
    limit: u32,
) -> Result<Vec<EventRow>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, kind, agent, data FROM events
         WHERE seq > ?1 AND seq <= ?2 AND (?3 = '' OR agent = ?3) ORDER BY seq LIMIT ?4",
    )?;
    let rows = statement.query_map(params![after.0, upto.0, agent, limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// At most `limit` events of some kinds after `after`, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn of_kinds(
    conn: &Connection,
    after: EventSeq,
    kinds: &[Kind],
    limit: u32,
) -> Result<Vec<EventRow>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, kind, agent, data FROM events
         WHERE seq > ?1 AND kind IN (SELECT value FROM json_each(?2)) ORDER BY seq LIMIT ?3",
    )?;
    let rows = statement.query_map(params![after.0, words(kinds), limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest event of some kinds.
///
/// # Errors
/// When the table cannot be read.
pub fn newest_of(conn: &Connection, kinds: &[Kind]) -> Result<Option<EventRow>, StoreError> {
    let row = conn
        .prepare_cached(
            "SELECT seq, at, kind, agent, data FROM events
             WHERE kind IN (SELECT value FROM json_each(?1)) ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([words(kinds)], read)
        .optional()?;
    Ok(row)
}

fn words(kinds: &[Kind]) -> String {
    Value::from(kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>()).to_string()
}

/// Everything that happened to one message, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn of_message(conn: &Connection, message: MessageId) -> Result<Vec<EventRow>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, kind, agent, data FROM events WHERE message_id = ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([message.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes at most `limit` events of the given kinds that are older than `before`; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(
    tx: &mut Tx<'_>,
    kinds: &[Kind],
    before: UnixMs,
    limit: u32,
) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM events WHERE seq IN (
                 SELECT seq FROM events WHERE at < ?1
                 AND kind IN (SELECT value FROM json_each(?2)) ORDER BY at LIMIT ?3)",
        )?
        .execute(params![before.0, words(kinds), limit])?;
    Ok(deleted)
}

fn read(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        seq: EventSeq(row.get(0)?),
        at: UnixMs(row.get(1)?),
        kind: row.get(2)?,
        agent: row.get(3)?,
        data: row.get(4)?,
    })
}
