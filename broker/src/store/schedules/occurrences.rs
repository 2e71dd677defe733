//! The `occurrences` table: one row an expected slot and target. Its key is what makes a slot fire at
//! most once.

use hive_proto::ids::{AgentId, MessageId, ScheduleId, UnixMs};
use rusqlite::{Connection, Row, params};
use serde_json::json;

use super::lifecycle::about;
use super::row::ScheduleRow;
use crate::model::event::Kind;
use crate::store::events;
use crate::store::{StoreError, Tx, odd};

/// What became of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// With why it fired out of its time, if it did.
    Fired {
        message: MessageId,
        reason: String,
    },
    Skipped {
        reason: String,
    },
}

/// A slot of one target, as it is to be stored.
#[derive(Clone, Debug)]
pub struct NewOccurrence<'a> {
    pub target: AgentId,
    pub slot: UnixMs,
    pub settled: &'a Settled,
    /// Slots that the row stands for.
    pub slots: u64,
    pub extra: bool,
    pub key: Option<&'a str>,
}

/// One stored slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccurrenceRow {
    pub schedule: ScheduleId,
    pub target: AgentId,
    pub target_name: String,
    pub slot: UnixMs,
    pub settled: Settled,
    pub slots: u64,
    pub extra: bool,
    pub at: UnixMs,
}

const COLUMNS: &str = "o.schedule_id, o.target_id, a.name, o.slot, o.state, o.reason, o.message_id,
    o.slots, o.extra, o.at";

// === impl Settled ===

impl Settled {
    /// In a few words, as a target's last result.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Fired { reason, .. } if reason.is_empty() => "fired".to_owned(),
            Self::Fired { reason, .. } => format!("fired: {reason}"),
            Self::Skipped { reason } => format!("skipped: {reason}"),
        }
    }
}

/// Writes down what became of a slot, and with the target what its last result is.
///
/// # Errors
/// `Conflict` when the slot was settled before.
pub fn settle(
    tx: &mut Tx<'_>,
    schedule: &ScheduleRow,
    new: &NewOccurrence<'_>,
) -> Result<(), StoreError> {
    let (state, message, reason) = match new.settled {
        Settled::Fired { message, reason } => ("fired", Some(*message), reason),
        Settled::Skipped { reason } => ("skipped", None, reason),
    };
    let slots = i64::try_from(new.slots).unwrap_or(i64::MAX);
    let inserted = tx
        .conn()
        .prepare_cached(
            "INSERT INTO occurrences (schedule_id, target_id, slot, state, reason, message_id,
                 slots, extra, idem_key, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (schedule_id, target_id, slot) DO NOTHING",
        )?
        .execute(params![
            schedule.id.0,
            new.target.0,
            new.slot.0,
            state,
            reason,
            message.map(|id| id.0),
            slots,
            new.extra,
            new.key,
            tx.now().0,
        ])?;
    if inserted == 0 {
        return Err(StoreError::Conflict {
            what: format!("slot {} of schedule {}", new.slot.rfc3339(), schedule.id),
            expected: "unsettled",
        });
    }
    note(tx, schedule, new, message)?;
    let data = json!({"id": schedule.id, "target": new.target, "slot_ms": new.slot,
        "message": message, "reason": reason, "slots": new.slots});
    let kind = match new.settled {
        Settled::Fired { .. } => Kind::ScheduleFired,
        Settled::Skipped { .. } => Kind::ScheduleSkipped,
    };
    events::append(tx, kind, about(schedule.owner), &data)
}

fn note(
    tx: &Tx<'_>,
    schedule: &ScheduleRow,
    new: &NewOccurrence<'_>,
    message: Option<MessageId>,
) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "UPDATE schedule_targets SET last_result = ?3,
                 last_fired_at = CASE WHEN ?4 IS NULL THEN last_fired_at ELSE ?5 END,
                 last_message = COALESCE(?4, last_message)
             WHERE schedule_id = ?1 AND target_id = ?2",
        )?
        .execute(params![
            schedule.id.0,
            new.target.0,
            new.settled.words(),
            message.map(|id| id.0),
            tx.now().0,
        ])?;
    Ok(())
}

/// The newest `limit` slots, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn newest(
    conn: &Connection,
    schedule: ScheduleId,
    limit: u32,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM occurrences o JOIN agents a ON a.id = o.target_id
         WHERE o.schedule_id = ?1 ORDER BY o.slot DESC, o.target_id DESC LIMIT ?2"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![schedule.0, limit], read)?;
    let mut rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    rows.reverse();
    Ok(rows)
}

/// What became of one slot, a row a target.
///
/// # Errors
/// When the table cannot be read.
pub fn of_slot(
    conn: &Connection,
    schedule: ScheduleId,
    slot: UnixMs,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM occurrences o JOIN agents a ON a.id = o.target_id
         WHERE o.schedule_id = ?1 AND o.slot = ?2 ORDER BY o.target_id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![schedule.0, slot.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many slots of a schedule are kept.
///
/// # Errors
/// When the table cannot be read.
pub fn counted(conn: &Connection, schedule: ScheduleId) -> Result<u64, StoreError> {
    let count: i64 = conn
        .prepare_cached("SELECT COUNT(*) FROM occurrences WHERE schedule_id = ?1")?
        .query_row([schedule.0], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Whether a slot was settled before.
///
/// # Errors
/// When the table cannot be read.
pub fn is_settled(
    conn: &Connection,
    schedule: ScheduleId,
    target: AgentId,
    slot: UnixMs,
) -> Result<bool, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM occurrences
             WHERE schedule_id = ?1 AND target_id = ?2 AND slot = ?3)",
        )?
        .query_row(params![schedule.0, target.0, slot.0], |row| row.get(0))?;
    Ok(found)
}

/// The slots that a call with this key fired.
///
/// # Errors
/// When the table cannot be read.
pub fn by_key(
    conn: &Connection,
    schedule: ScheduleId,
    key: &str,
) -> Result<Vec<OccurrenceRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM occurrences o JOIN agents a ON a.id = o.target_id
         WHERE o.schedule_id = ?1 AND o.extra = 1 AND o.idem_key = ?2 ORDER BY o.target_id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![schedule.0, key], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes at most `limit` slots that were settled before `before`; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune_occurrences(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM occurrences WHERE id IN (
                 SELECT id FROM occurrences WHERE at < ?1 ORDER BY at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn read(row: &Row<'_>) -> rusqlite::Result<OccurrenceRow> {
    let state: String = row.get(4)?;
    let reason: String = row.get(5)?;
    Ok(OccurrenceRow {
        schedule: ScheduleId(row.get(0)?),
        target: AgentId(row.get(1)?),
        target_name: row.get(2)?,
        slot: UnixMs(row.get(3)?),
        settled: match state.as_str() {
            "fired" => Settled::Fired {
                message: MessageId(row.get(6)?),
                reason,
            },
            "skipped" => Settled::Skipped { reason },
            other => return Err(odd(4, other)),
        },
        slots: u64::try_from(row.get::<_, i64>(7)?).unwrap_or(1),
        extra: row.get(8)?,
        at: UnixMs(row.get(9)?),
    })
}
