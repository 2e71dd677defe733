//! Creating an agent: checked, recorded, and from then on driven.

use hive_proto::name::AgentName;
use hive_proto::script::Script;
use hive_proto::v1::Role;

use super::error::AgentsError;
use super::rights::{AskedRights, resolve};
use super::service::Agents;
use super::view::AgentView;
use crate::model::agent::Held;
use crate::model::rights::Rights;
use crate::runtime::Trust;
use crate::store::agents::{self as table, AgentRow, NewAgent};
use crate::store::{Conn, StoreError, purges, rights};
use crate::topology;

const SCRIPTED: &str = "scripted";
const ENGINES: [&str; 2] = [SCRIPTED, "claude"];
/// Most of a role or a script: both travel in one answer to the harness.
const TEXT_BYTES: usize = 1024 * 1024;
/// Most of a model's or an image's name.
const WORD_BYTES: usize = 256;

/// A new agent as it is asked for; empty texts mean hive.toml's defaults.
#[derive(Clone, Debug)]
pub struct CreateAgent {
    pub name: AgentName,
    pub role: Role,
    pub parent: Parent,
    pub engine: String,
    pub model: String,
    pub image: String,
    pub role_prompt: String,
    pub script: String,
    pub rights: AskedRights,
}

/// Whose child it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// The manager's, if there is exactly one manager at the root; else nobody's.
    Default,
    /// Nobody's but the operator's.
    Root,
    Agent(AgentName),
}

// === impl Agents ===

impl Agents {
    /// Records a new agent, which is then started. A removed one of the name comes back under its
    /// old id, unless it was purged.
    ///
    /// # Errors
    /// A name that is taken or still being purged, a parent that is not there, an engine that may not run here, a faulty
    /// script, the store's failure.
    pub async fn create_agent(&self, new: CreateAgent) -> Result<AgentView, AgentsError> {
        let new = self.check(new)?;
        let recorded = self.0.store.write(move |tx| {
            let conn = tx.conn();
            if table::find(conn, &new.name)?.is_some() {
                return Ok(Err(AgentsError::AlreadyExists(new.name.to_string())));
            }
            // Its files would be deleted together with those of the one before.
            if purges::of_name(conn, &new.name)?.is_some() {
                return Ok(Err(AgentsError::BeingPurged(new.name.to_string())));
            }
            let removed = table::find_removed(conn, &new.name)?;
            let parent = match parent(conn, &new, removed.as_ref())? {
                Ok(parent) => parent,
                Err(refusal) => return Ok(Err(refusal)),
            };
            // One that comes back keeps what it was allowed.
            let had = match &removed {
                Some(old) => rights::get(conn, old.id)?,
                None => Rights::default(),
            };
            let allowed = match resolve(conn, &new.rights, had)? {
                Ok(allowed) => allowed,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let row = NewAgent {
                name: new.name,
                role: new.role,
                parent: parent.map(|row| row.id),
                engine: new.engine,
                model: new.model,
                image: new.image,
                role_prompt: new.role_prompt,
                script: new.script,
                config_sha: String::new(),
            };
            let row = match removed {
                Some(old) => table::revive(tx, old.id, &row)?,
                None => table::insert(tx, &row)?,
            };
            rights::set(tx, row.id, &allowed)?;
            Ok(Ok(row))
        });
        let row = recorded.await??;
        self.drive_from(&row, Held::Unseen);
        // A driver that was still removing the old one finds that it is wanted again.
        if let Some(handle) = self.0.fleet.get(row.id) {
            handle.nudge.notify_one();
        }
        self.view_of(row.id).await
    }

    /// Fills in the defaults and refuses what cannot work.
    fn check(&self, mut new: CreateAgent) -> Result<CreateAgent, AgentsError> {
        let settings = &self.0.settings;
        if new.engine.is_empty() {
            new.engine.clone_from(&settings.engine);
        }
        if new.model.is_empty() {
            new.model.clone_from(&settings.model);
        }
        if new.role == Role::Unspecified {
            new.role = Role::Agent;
        }
        if !ENGINES.contains(&new.engine.as_str()) {
            let word = new.engine.chars().take(40).collect();
            return Err(AgentsError::UnknownEngine(word));
        }
        if settings.trust == Trust::ScriptedOnly && new.engine != SCRIPTED {
            return Err(AgentsError::Untrusted(new.engine));
        }
        for (what, text, most) in [
            ("the role", &new.role_prompt, TEXT_BYTES),
            ("the script", &new.script, TEXT_BYTES),
            ("the model's name", &new.model, WORD_BYTES),
            ("the image's name", &new.image, WORD_BYTES),
        ] {
            if text.len() > most {
                return Err(AgentsError::TooLong { what, most });
            }
        }
        if !new.script.is_empty() {
            Script::parse(&new.script)
                .map_err(|faults| AgentsError::BadScript(faults.to_string()))?;
        }
        Ok(new)
    }
}

/// The parent's row, none for a root agent.
fn parent(
    conn: &Conn,
    new: &CreateAgent,
    removed: Option<&AgentRow>,
) -> Result<Result<Option<AgentRow>, AgentsError>, StoreError> {
    let found = match &new.parent {
        Parent::Root => None,
        Parent::Default => {
            only_manager(conn)?.filter(|row| Some(row.id) != removed.map(|row| row.id))
        }
        Parent::Agent(name) => match table::find(conn, name)? {
            Some(row) => Some(row),
            None => return Ok(Err(AgentsError::UnknownParent(name.to_string()))),
        },
    };
    if let (Some(found), Some(removed)) = (&found, removed)
        && topology::is_below(conn, found.id, removed.id)?
    {
        return match new.parent {
            Parent::Default => Ok(Ok(None)),
            Parent::Root | Parent::Agent(_) => Ok(Err(AgentsError::Cycle {
                name: new.name.to_string(),
                parent: found.name.to_string(),
            })),
        };
    }
    Ok(Ok(found))
}

fn only_manager(conn: &Conn) -> Result<Option<AgentRow>, StoreError> {
    let mut managers: Vec<AgentRow> = table::list(conn)?
        .into_iter()
        .filter(|row| row.role == Role::Manager && row.parent.is_none())
        .collect();
    let first = managers.pop();
    Ok(first.filter(|_| managers.is_empty()))
}
