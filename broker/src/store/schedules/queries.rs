//! Looking at schedules without changing anything.

use hive_proto::ids::{AgentId, ScheduleId, UnixMs};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::row::{Owner, SELECT, ScheduleRow, read};
use crate::store::StoreError;

/// Whose schedules are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owners {
    Everybody,
    These(Vec<AgentId>),
}

/// Which ones are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Active,
    All,
}

/// Rows of a listing.
const ROWS: u32 = 500;

/// One schedule.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: ScheduleId) -> Result<Option<ScheduleRow>, StoreError> {
    let row = conn
        .prepare_cached(&format!("{SELECT} WHERE s.id = ?1"))?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// The newest ones, in the order of their making.
///
/// # Errors
/// When the table cannot be read.
pub fn list(
    conn: &Connection,
    owners: &Owners,
    listing: Listing,
) -> Result<Vec<ScheduleRow>, StoreError> {
    let ids = match owners {
        Owners::Everybody => None,
        Owners::These(ids) => {
            let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
            Some(Value::from(ids).to_string())
        }
    };
    let active = listing == Listing::Active;
    let sql = format!(
        "{SELECT} WHERE (?1 IS NULL OR s.owner_id IN (SELECT value FROM json_each(?1)))
         AND (NOT ?2 OR s.state = 'active') ORDER BY s.id DESC LIMIT ?3"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![ids, active, ROWS], read)?;
    let mut rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    rows.reverse();
    Ok(rows)
}

/// At most `limit` active ones whose next slot has come, the longest overdue first.
///
/// # Errors
/// When the table cannot be read.
pub fn due(conn: &Connection, now: UnixMs, limit: u32) -> Result<Vec<ScheduleRow>, StoreError> {
    let sql = format!(
        "{SELECT} WHERE s.state = 'active' AND s.next_fire_at <= ?1
         ORDER BY s.next_fire_at, s.id LIMIT ?2"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![now.0, limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the next slot of any comes.
///
/// # Errors
/// When the table cannot be read.
pub fn next_due(conn: &Connection) -> Result<Option<UnixMs>, StoreError> {
    let at: Option<i64> = conn
        .prepare_cached("SELECT MIN(next_fire_at) FROM schedules WHERE state = 'active'")?
        .query_row([], |row| row.get(0))?;
    Ok(at.map(UnixMs))
}

/// How many active ones somebody has.
///
/// # Errors
/// When the table cannot be read.
pub fn active_of(conn: &Connection, owner: Owner) -> Result<u32, StoreError> {
    let count = conn
        .prepare_cached(
            "SELECT COUNT(*) FROM schedules WHERE COALESCE(owner_id, 0) = ?1 AND state = 'active'",
        )?
        .query_row([owner.id().unwrap_or(0)], |row| row.get(0))?;
    Ok(count)
}

/// Active ones whose owner was purged.
///
/// # Errors
/// When the table cannot be read.
pub fn abandoned(conn: &Connection) -> Result<Vec<ScheduleRow>, StoreError> {
    let sql = format!("{SELECT} WHERE s.state = 'active' AND o.purged = 1 ORDER BY s.id");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}
