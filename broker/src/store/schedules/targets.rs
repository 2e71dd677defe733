//! The `schedule_targets` table: who is written to, and what became of their last slot.

use hive_proto::ids::{AgentId, MessageId, ScheduleId, UnixMs};
use rusqlite::{Connection, Row, params};

use crate::store::{StoreError, Tx, odd};

/// Whether a target still gets slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    Active,
    /// Taken out; `closed` once the slot that it would have had next was written down.
    Removed {
        closed: bool,
    },
}

/// One target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRow {
    pub id: AgentId,
    pub name: String,
    /// Whether the agent is there.
    pub living: bool,
    pub membership: Membership,
    pub last_fired_at: Option<UnixMs>,
    pub last_result: String,
    pub last_message: Option<MessageId>,
}

// === impl Membership ===

impl Membership {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Removed { .. } => "removed",
        }
    }
}

/// Adds a target, or takes a removed one back, its last results forgotten.
///
/// # Errors
/// When the row cannot be written.
pub fn add_target(tx: &Tx<'_>, schedule: ScheduleId, target: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO schedule_targets (schedule_id, target_id, state) VALUES (?1, ?2, 'active')
             ON CONFLICT (schedule_id, target_id) DO UPDATE SET state = 'active', closed = 0,
                 last_fired_at = NULL, last_result = '', last_message = NULL
             WHERE state = 'removed'",
        )?
        .execute(params![schedule.0, target.0])?;
    Ok(())
}

/// Takes an active target out.
///
/// # Errors
/// When the row cannot be written.
pub fn remove_target(tx: &Tx<'_>, schedule: ScheduleId, target: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "UPDATE schedule_targets SET state = 'removed', closed = 0
             WHERE schedule_id = ?1 AND target_id = ?2 AND state = 'active'",
        )?
        .execute(params![schedule.0, target.0])?;
    Ok(())
}

/// Notes that a removed target's last row was written.
///
/// # Errors
/// When the row cannot be written.
pub fn close_target(tx: &Tx<'_>, schedule: ScheduleId, target: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "UPDATE schedule_targets SET closed = 1
             WHERE schedule_id = ?1 AND target_id = ?2 AND state = 'removed'",
        )?
        .execute(params![schedule.0, target.0])?;
    Ok(())
}

/// Every target, also removed ones, in the order of the agents' making.
///
/// # Errors
/// When the table cannot be read.
pub fn targets(conn: &Connection, schedule: ScheduleId) -> Result<Vec<TargetRow>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT t.target_id, a.name, a.removed_at IS NULL, t.state, t.closed, t.last_fired_at,
             t.last_result, t.last_message
         FROM schedule_targets t JOIN agents a ON a.id = t.target_id
         WHERE t.schedule_id = ?1 ORDER BY t.target_id",
    )?;
    let rows = statement.query_map([schedule.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Active targets of active schedules whose agent was purged.
///
/// # Errors
/// When the table cannot be read.
pub fn purged_targets(conn: &Connection) -> Result<Vec<(ScheduleId, AgentId)>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT t.schedule_id, t.target_id FROM schedules s
         JOIN schedule_targets t ON t.schedule_id = s.id AND t.state = 'active'
         JOIN agents a ON a.id = t.target_id AND a.purged = 1
         WHERE s.state = 'active' ORDER BY t.schedule_id, t.target_id",
    )?;
    let rows = statement.query_map([], |row| {
        Ok((ScheduleId(row.get(0)?), AgentId(row.get(1)?)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<TargetRow> {
    let state: String = row.get(3)?;
    Ok(TargetRow {
        id: AgentId(row.get(0)?),
        name: row.get(1)?,
        living: row.get(2)?,
        membership: match state.as_str() {
            "active" => Membership::Active,
            "removed" => Membership::Removed {
                closed: row.get(4)?,
            },
            other => return Err(odd(3, other)),
        },
        last_fired_at: row.get::<_, Option<i64>>(5)?.map(UnixMs),
        last_result: row.get(6)?,
        last_message: row.get::<_, Option<i64>>(7)?.map(MessageId),
    })
}
