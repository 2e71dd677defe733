//! The `agents` table.

use hive_proto::ids::{AgentId, UnixMs};
use hive_proto::name::AgentName;
use hive_proto::v1::Role;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{Recipient, StoreError, Tx};
use crate::model::event::Kind;

/// What the operator wants of an agent; a paused agent is wanted running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Desired {
    Running,
    Stopped,
}

/// Whether an agent may begin turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    Paused,
    Resumed,
}

/// What becomes of a removed agent's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// State and identity wait for a revival.
    Kept,
    /// Nothing is left: the name begins anew with another id.
    Purged,
}

/// A new agent, as it is to be stored.
#[derive(Clone, Debug)]
pub struct NewAgent {
    pub name: AgentName,
    pub role: Role,
    /// None: a root agent.
    pub parent: Option<AgentId>,
    pub engine: String,
    pub model: String,
    /// Empty: hive.toml's default.
    pub image: String,
    pub role_prompt: String,
    pub script: String,
    pub config_sha: String,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    pub id: AgentId,
    pub name: AgentName,
    pub role: Role,
    /// The parent as recorded, maybe removed since.
    pub parent: Option<AgentId>,
    pub desired: Desired,
    pub paused: bool,
    pub engine: String,
    pub model: String,
    pub image: String,
    pub role_prompt: String,
    pub script: String,
    pub config_sha: String,
    /// A restart was asked for and has not begun.
    pub restart_asked: bool,
    /// Empty: nothing was made yet.
    pub spec_hash: String,
    /// Empty: nothing runs it.
    pub runtime_id: String,
    pub status_text: String,
    pub status_at: Option<UnixMs>,
    /// Times of the last restarts, oldest first.
    pub restarts: Vec<UnixMs>,
    /// Why the restart plan gave up; empty when it did not.
    pub failed: String,
    pub created_at: UnixMs,
    pub removed_at: Option<UnixMs>,
    /// Removed with everything it had.
    pub purged: bool,
}

const COLUMNS: &str =
    "id, name, role, parent_id, desired, paused, engine, model, image, role_prompt,
    script, config_sha, spec_hash, runtime_id, status_text, status_at, restarts, failed, created_at,
    removed_at, purged, restart_asked";

// === impl Desired ===

impl Desired {
    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
        }
    }
}

/// Stores a new agent that is to run.
///
/// # Errors
/// `Conflict` when a living agent has the name.
pub fn insert(tx: &mut Tx<'_>, new: &NewAgent) -> Result<AgentRow, StoreError> {
    if find(tx.conn(), &new.name)?.is_some() {
        return Err(taken(&new.name));
    }
    tx.conn()
        .prepare_cached(
            "INSERT INTO agents (name, role, parent_id, desired, engine, model, image, role_prompt,
                 script, config_sha, created_at)
             VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            new.name.as_str(),
            words::role(new.role),
            new.parent.map(|id| id.0),
            new.engine,
            new.model,
            new.image,
            new.role_prompt,
            new.script,
            new.config_sha,
            tx.now().0,
        ])?;
    let id = AgentId(tx.conn().last_insert_rowid());
    let data = json!({"role": words::role(new.role), "engine": new.engine, "model": new.model});
    events::append(tx, Kind::AgentCreated, About::agent(id), &data)?;
    get(tx.conn(), id)?.ok_or_else(|| missing(id))
}

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

/// Brings a removed agent back under its old id, with the new configuration, to run.
///
/// # Errors
/// `Conflict` when it is not removed (or purged), or the name is taken.
pub fn revive(tx: &mut Tx<'_>, id: AgentId, new: &NewAgent) -> Result<AgentRow, StoreError> {
    if find(tx.conn(), &new.name)?.is_some() {
        return Err(taken(&new.name));
    }
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET role = ?2, parent_id = ?3, desired = 'running', paused = 0,
                 engine = ?4, model = ?5, image = ?6, role_prompt = ?7, script = ?8,
                 config_sha = ?9, spec_hash = '', runtime_id = '', restarts = '[]', failed = '',
                 restart_asked = 0, removed_at = NULL
             WHERE id = ?1 AND removed_at IS NOT NULL AND purged = 0",
        )?
        .execute(params![
            id.0,
            words::role(new.role),
            new.parent.map(|id| id.0),
            new.engine,
            new.model,
            new.image,
            new.role_prompt,
            new.script,
            new.config_sha,
        ])?;
    one(changed, id, "removed")?;
    let data = json!({"role": words::role(new.role), "engine": new.engine, "model": new.model,
        "revived": true});
    events::append(tx, Kind::AgentCreated, About::agent(id), &data)?;
    get(tx.conn(), id)?.ok_or_else(|| missing(id))
}

/// Records what the operator wants. Wanting it to run forgets its failure and its restarts.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn set_desired(tx: &mut Tx<'_>, id: AgentId, desired: Desired) -> Result<(), StoreError> {
    let sql = match desired {
        Desired::Running => {
            "UPDATE agents SET desired = 'running', failed = '', restarts = '[]', restart_asked = 0
             WHERE id = ?1 AND removed_at IS NULL"
        }
        Desired::Stopped => {
            "UPDATE agents SET desired = 'stopped', restart_asked = 0
             WHERE id = ?1 AND removed_at IS NULL"
        }
    };
    let changed = tx.conn().prepare_cached(sql)?.execute([id.0])?;
    one(changed, id, "living")?;
    tx.wake(Recipient::Agent(id));
    let data = json!({"desired": desired.word()});
    events::append(tx, Kind::AgentDesired, About::agent(id), &data)
}

/// Records that it is to be stopped and started again; forgets its failure and its restarts.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn ask_restart(tx: &mut Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET desired = 'running', failed = '', restarts = '[]', restart_asked = 1
             WHERE id = ?1 AND removed_at IS NULL",
        )?
        .execute([id.0])?;
    one(changed, id, "living")?;
    tx.wake(Recipient::Agent(id));
    let data = json!({"desired": Desired::Running.word(), "restart": true});
    events::append(tx, Kind::AgentDesired, About::agent(id), &data)
}

/// Records that the restart that was asked for begins; nothing when something else was asked since.
///
/// # Errors
/// When the row cannot be written.
pub fn begin_restart(tx: &mut Tx<'_>, id: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached("UPDATE agents SET restart_asked = 0 WHERE id = ?1 AND restart_asked = 1")?
        .execute([id.0])?;
    Ok(())
}

/// Pauses or resumes it; a resumed agent's long poll looks again.
///
/// # Errors
/// `Conflict` when it is removed, or already so.
pub fn set_paused(tx: &mut Tx<'_>, id: AgentId, pause: Pause) -> Result<(), StoreError> {
    let (paused, kind, expected) = match pause {
        Pause::Paused => (1, Kind::AgentPaused, "running"),
        Pause::Resumed => (0, Kind::AgentResumed, "paused"),
    };
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET paused = ?2 WHERE id = ?1 AND paused <> ?2 AND removed_at IS NULL",
        )?
        .execute(params![id.0, paused])?;
    one(changed, id, expected)?;
    tx.wake(Recipient::Agent(id));
    events::append(tx, kind, About::agent(id), &json!({}))
}

/// Records what runs it, and the hash of the request that it was made from; both empty: nothing.
///
/// # Errors
/// `NotFound`.
pub fn set_instance(
    tx: &mut Tx<'_>,
    id: AgentId,
    runtime_id: &str,
    spec_hash: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached("UPDATE agents SET runtime_id = ?2, spec_hash = ?3 WHERE id = ?1")?
        .execute(params![id.0, runtime_id, spec_hash])?;
    found(changed, id)
}

/// Sets the agent's own status line; empty clears it.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn set_status(tx: &mut Tx<'_>, id: AgentId, text: &str) -> Result<(), StoreError> {
    let at = (!text.is_empty()).then_some(tx.now().0);
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET status_text = ?2, status_at = ?3
             WHERE id = ?1 AND removed_at IS NULL",
        )?
        .execute(params![id.0, text, at])?;
    one(changed, id, "living")?;
    events::append(
        tx,
        Kind::AgentStatus,
        About::agent(id),
        &json!({"text": text}),
    )
}

/// Records a restart: the times that still count, with the new one.
///
/// # Errors
/// `Conflict` when it is removed.
pub fn record_restart(
    tx: &mut Tx<'_>,
    id: AgentId,
    restarts: &[UnixMs],
    why: &str,
) -> Result<(), StoreError> {
    let times = json!(restarts);
    let changed = tx
        .conn()
        .prepare_cached("UPDATE agents SET restarts = ?2 WHERE id = ?1 AND removed_at IS NULL")?
        .execute(params![id.0, times.to_string()])?;
    one(changed, id, "living")?;
    let data = json!({"why": why, "count": restarts.len()});
    events::append(tx, Kind::AgentRestarted, About::agent(id), &data)
}

/// Records that the restart plan gave up.
///
/// # Errors
/// `Conflict` when it is removed or has failed before.
pub fn set_failed(tx: &mut Tx<'_>, id: AgentId, why: &str) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET failed = ?2 WHERE id = ?1 AND failed = '' AND removed_at IS NULL",
        )?
        .execute(params![id.0, why])?;
    one(changed, id, "working")?;
    events::append(
        tx,
        Kind::AgentFailed,
        About::agent(id),
        &json!({"why": why}),
    )
}

/// Marks it removed: its name is free, its rows stay.
///
/// # Errors
/// `Conflict` when it is removed already.
pub fn set_removed(tx: &mut Tx<'_>, id: AgentId, removal: Removal) -> Result<(), StoreError> {
    let purged = removal == Removal::Purged;
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET removed_at = ?2, purged = ?3, desired = 'stopped', runtime_id = '',
                 spec_hash = '', status_text = '', status_at = NULL
             WHERE id = ?1 AND removed_at IS NULL",
        )?
        .execute(params![id.0, tx.now().0, purged])?;
    one(changed, id, "living")?;
    tx.wake(Recipient::Agent(id));
    events::append(
        tx,
        Kind::AgentRemoved,
        About::agent(id),
        &json!({"purged": purged}),
    )
}

/// Appends a change of the shown state.
///
/// # Errors
/// When the event cannot be written.
pub fn note_state(
    tx: &mut Tx<'_>,
    id: AgentId,
    state: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let data = json!({"state": state, "detail": detail});
    events::append(tx, Kind::AgentState, About::agent(id), &data)
}

fn taken(name: &AgentName) -> StoreError {
    StoreError::Conflict {
        what: format!("the name {name}"),
        expected: "free",
    }
}

fn missing(id: AgentId) -> StoreError {
    StoreError::NotFound(format!("agent {id}"))
}

fn found(changed: usize, id: AgentId) -> Result<(), StoreError> {
    if changed == 1 {
        Ok(())
    } else {
        Err(missing(id))
    }
}

fn one(changed: usize, id: AgentId, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("agent {id}"),
        expected,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<AgentRow> {
    let odd = |at: usize, what: String| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, what.into())
    };
    let name: String = row.get(1)?;
    let role: String = row.get(2)?;
    let desired: String = row.get(4)?;
    let restarts: String = row.get(16)?;
    Ok(AgentRow {
        id: AgentId(row.get(0)?),
        name: name
            .parse()
            .map_err(|error: hive_proto::name::NameError| odd(1, error.to_string()))?,
        role: words::parse_role(&role).ok_or_else(|| odd(2, format!("role {role:?}")))?,
        parent: row.get::<_, Option<i64>>(3)?.map(AgentId),
        desired: match desired.as_str() {
            "running" => Desired::Running,
            "stopped" => Desired::Stopped,
            other => return Err(odd(4, format!("desired {other:?}"))),
        },
        paused: row.get(5)?,
        engine: row.get(6)?,
        model: row.get(7)?,
        image: row.get(8)?,
        role_prompt: row.get(9)?,
        script: row.get(10)?,
        config_sha: row.get(11)?,
        spec_hash: row.get(12)?,
        runtime_id: row.get(13)?,
        status_text: row.get(14)?,
        status_at: row.get::<_, Option<i64>>(15)?.map(UnixMs),
        restarts: serde_json::from_str(&restarts).map_err(|error| odd(16, error.to_string()))?,
        failed: row.get(17)?,
        created_at: UnixMs(row.get(18)?),
        removed_at: row.get::<_, Option<i64>>(19)?.map(UnixMs),
        purged: row.get(20)?,
        restart_asked: row.get(21)?,
    })
}
