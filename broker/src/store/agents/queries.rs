//! Looking at agents without changing anything.

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use rusqlite::{Connection, OptionalExtension};

use super::row::{AgentRow, COLUMNS, read};
use crate::store::StoreError;

/// The living agent of that name.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, name: &AgentName) -> Result<Option<AgentRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE name = ?1 AND removed_at IS NULL");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([name.as_str()], read)
        .optional()?;
    Ok(row)
}

/// The agent, living or removed.
///
/// # Errors
/// When the table cannot be read.
pub fn get(conn: &Connection, id: AgentId) -> Result<Option<AgentRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// Every living agent, by name.
///
/// # Errors
/// When the table cannot be read.
pub fn list(conn: &Connection) -> Result<Vec<AgentRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE removed_at IS NULL ORDER BY name");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The agent of that name that was removed last and not purged.
///
/// # Errors
/// When the table cannot be read.
pub fn find_removed(conn: &Connection, name: &AgentName) -> Result<Option<AgentRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM agents
         WHERE name = ?1 AND removed_at IS NOT NULL AND purged = 0 ORDER BY id DESC LIMIT 1"
    );
    let row = conn
        .prepare_cached(&sql)?
        .query_row([name.as_str()], read)
        .optional()?;
    Ok(row)
}
