//! Agents that come: new ones, and removed ones that come back.

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use hive_proto::words;
use rusqlite::params;
use serde_json::json;

use super::change::{missing, one};
use super::queries::{find, get};
use super::row::{AgentRow, NewAgent};
use crate::model::event::Kind;
use crate::store::events::{self, About};
use crate::store::{StoreError, Tx};

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

fn taken(name: &AgentName) -> StoreError {
    StoreError::Conflict {
        what: format!("the name {name}"),
        expected: "free",
    }
}
