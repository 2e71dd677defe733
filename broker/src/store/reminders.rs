//! The `reminders` table: messages of agents to themselves, for later.

use hive_proto::ids::{AgentId, MessageId, ReminderId, UnixMs};
use hive_proto::v1::ReminderState;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::{Value, json};

use super::events::{self, About};
use super::{StoreError, Tx};
use crate::model::event::Kind;
use crate::model::reminder::State;

/// One reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReminderRow {
    pub id: ReminderId,
    pub agent: AgentId,
    pub agent_name: String,
    pub body: String,
    pub due_at: UnixMs,
    pub state: ReminderState,
    /// Tries that failed.
    pub attempts: u32,
    pub not_before: Option<UnixMs>,
    /// Why the last try failed.
    pub error: String,
    /// The message that it became, while it is kept.
    pub message: Option<MessageId>,
    pub set_at: UnixMs,
    /// When it fired, failed or was cancelled.
    pub finished_at: Option<UnixMs>,
}

/// A reminder to be set.
#[derive(Clone, Copy, Debug)]
pub struct NewReminder<'a> {
    pub agent: AgentId,
    pub body: &'a str,
    pub due_at: UnixMs,
    pub key: Option<&'a str>,
}

/// Whose reminders are listed, of those that are neither fired nor cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Anyone,
    Agent(AgentId),
}

const COLUMNS: &str = "id, agent_id, (SELECT name FROM agents WHERE agents.id = agent_id), body,
    due_at, state, attempts, not_before, error, message_id, set_at, finished_at";
/// A removed agent's reminders wait until it is back.
const LIVING: &str =
    "EXISTS (SELECT 1 FROM agents WHERE agents.id = agent_id AND removed_at IS NULL)";

// === impl ReminderRow ===

impl ReminderRow {
    /// Its state as the lifecycle knows it.
    #[must_use]
    pub fn life(&self) -> State {
        match self.state {
            ReminderState::Pending | ReminderState::Unspecified => State::Pending {
                attempts: self.attempts,
                not_before: self.not_before,
            },
            ReminderState::Fired => State::Fired,
            ReminderState::Failed => State::Failed {
                attempts: self.attempts,
            },
            ReminderState::Cancelled => State::Cancelled,
        }
    }
}

/// Sets a reminder.
///
/// # Errors
/// When the row cannot be written, e.g. because the key is used.
pub fn insert(tx: &mut Tx<'_>, new: &NewReminder<'_>) -> Result<ReminderId, StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO reminders (agent_id, body, due_at, idem_key, state, set_at)
             VALUES (?1, ?2, ?3, ?4, 'pending', ?5)",
        )?
        .execute(params![
            new.agent.0,
            new.body,
            new.due_at.0,
            new.key,
            tx.now().0
        ])?;
    let id = ReminderId(tx.conn().last_insert_rowid());
    let data = json!({"id": id, "due_ms": new.due_at, "bytes": new.body.len()});
    events::append(tx, Kind::ReminderSet, About::agent(new.agent), &data)?;
    Ok(id)
}

/// Pending → fired, as that message.
///
/// # Errors
/// `Conflict` when it is not pending.
pub fn fire(tx: &mut Tx<'_>, row: &ReminderRow, message: MessageId) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'fired', message_id = ?2, not_before = NULL, error = '',
                 finished_at = ?3
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![row.id.0, message.0, tx.now().0])?;
    one(changed, row, "pending")?;
    let data = json!({"id": row.id, "message": message, "due_ms": row.due_at});
    note(tx, row, Kind::ReminderFired, &data)
}

/// Pending → pending or failed, after a try that failed.
///
/// # Errors
/// `Conflict` when it is not pending.
pub fn refuse(
    tx: &mut Tx<'_>,
    row: &ReminderRow,
    after: State,
    why: &str,
) -> Result<(), StoreError> {
    let (state, attempts, not_before) = match after {
        State::Failed { attempts } => (ReminderState::Failed, attempts, None),
        State::Pending {
            attempts,
            not_before,
        } => (ReminderState::Pending, attempts, not_before),
        State::Fired | State::Cancelled => {
            return Err(StoreError::Illegal(format!(
                "a refused reminder is {after:?}"
            )));
        }
    };
    let is_final = state == ReminderState::Failed;
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = ?2, attempts = ?3, not_before = ?4, error = ?5,
                 finished_at = ?6
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute(params![
            row.id.0,
            words::reminder_state(state),
            attempts,
            not_before.map(|at| at.0),
            why,
            is_final.then_some(tx.now().0),
        ])?;
    one(changed, row, "pending")?;
    let data = json!({"id": row.id, "attempts": attempts, "why": why, "final": is_final,
        "not_before_ms": not_before});
    note(tx, row, Kind::ReminderFailed, &data)
}

/// Failed → pending, due at once, its tries forgotten.
///
/// # Errors
/// `Conflict` when it has not failed.
pub fn retry(tx: &mut Tx<'_>, row: &ReminderRow) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'pending', attempts = 0, finished_at = NULL
             WHERE id = ?1 AND state = 'failed'",
        )?
        .execute([row.id.0])?;
    one(changed, row, "failed")?;
    note(tx, row, Kind::ReminderRetried, &json!({"id": row.id}))
}

/// Pending or failed → cancelled.
///
/// # Errors
/// `Conflict` when it is neither.
pub fn cancel(tx: &mut Tx<'_>, row: &ReminderRow, by: &str) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE reminders SET state = 'cancelled', not_before = NULL, finished_at = ?2
             WHERE id = ?1 AND state IN ('pending', 'failed')",
        )?
        .execute(params![row.id.0, tx.now().0])?;
    one(changed, row, "pending or failed")?;
    note(
        tx,
        row,
        Kind::ReminderCancelled,
        &json!({"id": row.id, "by": by}),
    )
}

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

/// Deletes at most `limit` reminders that fired or were cancelled before `before`; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM reminders WHERE id IN (
                 SELECT id FROM reminders WHERE finished_at < ?1
                 AND state IN ('fired', 'cancelled') ORDER BY finished_at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<ReminderRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<ReminderRow> {
    let state: String = row.get(5)?;
    Ok(ReminderRow {
        id: ReminderId(row.get(0)?),
        agent: AgentId(row.get(1)?),
        agent_name: row.get(2)?,
        body: row.get(3)?,
        due_at: UnixMs(row.get(4)?),
        state: words::parse_reminder_state(&state).ok_or_else(|| {
            let text = format!("unexpected {state:?}");
            rusqlite::Error::FromSqlConversionFailure(5, rusqlite::types::Type::Text, text.into())
        })?,
        attempts: row.get(6)?,
        not_before: row.get::<_, Option<i64>>(7)?.map(UnixMs),
        error: row.get(8)?,
        message: row.get::<_, Option<i64>>(9)?.map(MessageId),
        set_at: UnixMs(row.get(10)?),
        finished_at: row.get::<_, Option<i64>>(11)?.map(UnixMs),
    })
}

fn one(changed: usize, row: &ReminderRow, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("reminder {}", row.id),
        expected,
    })
}

fn note(tx: &mut Tx<'_>, row: &ReminderRow, kind: Kind, data: &Value) -> Result<(), StoreError> {
    events::append(tx, kind, About::agent(row.agent), data)
}
