//! An agent as stored, and how a row is read.

use hive_proto::ids::{AgentId, UnixMs};
use hive_proto::name::AgentName;
use hive_proto::v1::Role;
use hive_proto::words;
use rusqlite::Row;

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

/// Columns that [`read`] reads.
pub(super) const COLUMNS: &str =
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

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<AgentRow> {
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
