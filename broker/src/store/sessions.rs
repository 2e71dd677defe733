//! The `sessions` table: the newest session of each agent. Liveness is not here but in memory.

use hive_proto::ids::{AgentId, Epoch, UnixMs};
use hive_proto::v1::HarnessState;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{Recipient, StoreError, Tx};
use crate::model::event::Kind;

/// The newest session of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub agent: AgentId,
    /// Empty once it was fenced.
    pub instance: String,
    pub epoch: Epoch,
    pub state: HarnessState,
    /// When a park ends.
    pub until: Option<UnixMs>,
    pub detail: String,
    pub version: String,
    pub level: u32,
}

/// Why a session is fenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// No beat for 60 s.
    Lost,
    /// Another instance took over.
    Replaced,
    /// Its process is gone.
    Gone,
}

const COLUMNS: &str = "agent_id, instance, epoch, state, until_at, detail, version, level";

/// The agent's newest session.
///
/// # Errors
/// When the table cannot be read.
pub fn get(conn: &Connection, agent: AgentId) -> Result<Option<SessionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE agent_id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([agent.0], read)
        .optional()?;
    Ok(row)
}

/// The newest session of every agent that has one which was not fenced.
///
/// # Errors
/// When the table cannot be read.
pub fn held(conn: &Connection) -> Result<Vec<SessionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE instance <> ''");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Records a new session under an epoch that nobody had before.
///
/// # Errors
/// `Conflict` when the agent has that epoch already.
pub fn open(tx: &mut Tx<'_>, new: &SessionRow) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "INSERT INTO sessions
                 (agent_id, instance, epoch, state, version, level, opened_at, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
             ON CONFLICT (agent_id) DO UPDATE SET instance = ?2, epoch = ?3, state = ?4,
                 until_at = NULL, detail = '', version = ?5, level = ?6, opened_at = ?7, seen_at = ?7
             WHERE epoch < ?3 OR (epoch = ?3 AND instance = '')",
        )?
        .execute(params![
            new.agent.0,
            new.instance,
            sql(new.epoch),
            words::harness_state(new.state),
            new.version,
            new.level,
            tx.now().0,
        ])?;
    one(changed, new.agent, "older")?;
    let data = json!({"epoch": new.epoch, "version": new.version, "level": new.level});
    events::append(tx, Kind::SessionOpened, About::agent(new.agent), &data)
}

/// Records that the same instance came back.
///
/// # Errors
/// `Conflict` when the epoch is no longer its.
pub fn resume(tx: &mut Tx<'_>, row: &SessionRow, open_turn: i64) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE sessions SET version = ?4, level = ?5, seen_at = ?6
             WHERE agent_id = ?1 AND epoch = ?2 AND instance = ?3",
        )?
        .execute(params![
            row.agent.0,
            sql(row.epoch),
            row.instance,
            row.version,
            row.level,
            tx.now().0
        ])?;
    one(changed, row.agent, "held by this instance")?;
    let data = json!({"epoch": row.epoch, "open_turn": open_turn});
    events::append(tx, Kind::SessionResumed, About::agent(row.agent), &data)
}

/// Takes the session from its holder: the epoch grows, its long polls end.
///
/// # Errors
/// `Conflict` when it is no longer that epoch's.
pub fn fence(
    tx: &mut Tx<'_>,
    agent: AgentId,
    epoch: Epoch,
    fence: Fence,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE sessions SET epoch = epoch + 1, instance = ''
             WHERE agent_id = ?1 AND epoch = ?2 AND instance <> ''",
        )?
        .execute(params![agent.0, sql(epoch)])?;
    one(changed, agent, "held under that epoch")?;
    tx.wake(Recipient::Agent(agent));
    let (kind, data) = match fence {
        Fence::Lost => (Kind::SessionLost, json!({"epoch": epoch})),
        Fence::Replaced => (
            Kind::SessionFenced,
            json!({"epoch": epoch, "why": "another harness took over"}),
        ),
        Fence::Gone => (
            Kind::SessionFenced,
            json!({"epoch": epoch, "why": "its process is gone"}),
        ),
    };
    events::append(tx, kind, About::agent(agent), &data)
}

/// Records what the harness says it is doing.
///
/// # Errors
/// `Conflict` when the epoch is no longer its.
pub fn set_state(
    tx: &mut Tx<'_>,
    agent: AgentId,
    epoch: Epoch,
    state: HarnessState,
    until: Option<UnixMs>,
    detail: &str,
) -> Result<(), StoreError> {
    let word = words::harness_state(state);
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE sessions SET state = ?3, until_at = ?4, detail = ?5, seen_at = ?6
             WHERE agent_id = ?1 AND epoch = ?2 AND instance <> ''",
        )?
        .execute(params![
            agent.0,
            sql(epoch),
            word,
            until.map(|at| at.0),
            detail,
            tx.now().0
        ])?;
    one(changed, agent, "held under that epoch")?;
    let data = json!({"state": word, "until_ms": until, "detail": detail});
    events::append(tx, Kind::SessionState, About::agent(agent), &data)
}

/// An epoch as SQLite holds it. One that a caller made up beyond its range matches nothing.
pub(super) fn sql(epoch: Epoch) -> i64 {
    i64::try_from(epoch.0).unwrap_or(i64::MAX)
}

fn one(changed: usize, agent: AgentId, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("the session of agent {agent}"),
        expected,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let state: String = row.get(3)?;
    Ok(SessionRow {
        agent: AgentId(row.get(0)?),
        instance: row.get(1)?,
        epoch: Epoch(row.get::<_, i64>(2)?.unsigned_abs()),
        state: words::parse_harness_state(&state).unwrap_or(HarnessState::Unspecified),
        until: row.get::<_, Option<i64>>(4)?.map(UnixMs),
        detail: row.get(5)?,
        version: row.get(6)?,
        level: row.get(7)?,
    })
}
