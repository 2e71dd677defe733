//! Which reminders there are, and which are due.

use hive_proto::ids::{AgentId, ReminderId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::row::{COLUMNS, Owner, ReminderRow, read};
use crate::store::StoreError;

/// A removed agent's reminders wait until it is back.
const LIVING: &str =
    "EXISTS (SELECT 1 FROM agents WHERE agents.id = agent_id AND removed_at IS NULL)";

/// One reminder.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: ReminderId) -> Result<Option<ReminderRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM reminders WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// The reminder that an agent's key was used for.
///
/// # Errors
/// When the table cannot be read.
pub fn by_key(
    conn: &Connection,
    agent: AgentId,
    key: &str,
) -> Result<Option<ReminderRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM reminders WHERE agent_id = ?1 AND idem_key = ?2");
    let row = conn
        .prepare_cached(&sql)?
        .query_row(params![agent.0, key], read)
        .optional()?;
    Ok(row)
}

/// An agent's reminders that have neither fired nor been cancelled.
///
/// # Errors
/// When the table cannot be read.
pub fn unfinished_count(conn: &Connection, agent: AgentId) -> Result<u32, StoreError> {
    let count = conn
        .prepare_cached(
            "SELECT COUNT(*) FROM reminders
             WHERE agent_id = ?1 AND state IN ('pending', 'failed')",
        )?
        .query_row([agent.0], |row| row.get(0))?;
    Ok(count)
}

/// The reminders that have neither fired nor been cancelled, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn unfinished(conn: &Connection, owner: Owner) -> Result<Vec<ReminderRow>, StoreError> {
    let (which, of) = match owner {
        Owner::Anyone => ("?1 = ?1", 0),
        Owner::Agent(agent) => ("agent_id = ?1", agent.0),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM reminders
         WHERE state IN ('pending', 'failed') AND {which} ORDER BY id"
    );
    all(conn, &sql, [of])
}

/// The newest `limit` reminders of any state, oldest first; of one agent when `owner` says so.
///
/// # Errors
/// When the table cannot be read.
pub fn newest(conn: &Connection, owner: Owner, limit: u32) -> Result<Vec<ReminderRow>, StoreError> {
    let (which, of) = match owner {
        Owner::Anyone => ("?1 = ?1", 0),
        Owner::Agent(agent) => ("agent_id = ?1", agent.0),
    };
    let sql = format!("SELECT {COLUMNS} FROM reminders WHERE {which} ORDER BY id DESC LIMIT ?2");
    let mut rows = all(conn, &sql, params![of, limit])?;
    rows.reverse();
    Ok(rows)
}

/// At most `limit` pending reminders of living agents whose time has come.
///
/// # Errors
/// When the table cannot be read.
pub fn due(conn: &Connection, now: UnixMs, limit: u32) -> Result<Vec<ReminderRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reminders
         WHERE state = 'pending' AND COALESCE(not_before, due_at) <= ?1 AND {LIVING}
         ORDER BY COALESCE(not_before, due_at), id LIMIT ?2"
    );
    all(conn, &sql, params![now.0, limit])
}

/// When the next one is to be tried.
///
/// # Errors
/// When the table cannot be read.
pub fn next_due(conn: &Connection) -> Result<Option<UnixMs>, StoreError> {
    let sql = format!(
        "SELECT COALESCE(not_before, due_at) FROM reminders WHERE state = 'pending' AND {LIVING}
         ORDER BY COALESCE(not_before, due_at) LIMIT 1"
    );
    let at: Option<i64> = conn
        .prepare_cached(&sql)?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(at.map(UnixMs))
}

/// The reminders of living agents whose tries are used up.
///
/// # Errors
/// When the table cannot be read.
pub fn failed(conn: &Connection) -> Result<Vec<ReminderRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM reminders WHERE state = 'failed' AND {LIVING}
         ORDER BY finished_at LIMIT 1000"
    );
    all(conn, &sql, [])
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<ReminderRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
