//! An agent's place in the tree: another parent, or none.

use super::create::Parent;
use super::error::AgentsError;
use super::service::Agents;
use super::view::AgentView;
use crate::store::{agents as table, roster};
use crate::topology;

// === impl Agents ===

impl Agents {
    /// Gives the agent another parent; what is below it goes with it. The parent that it has already
    /// is success. A running harness is told: its next turn's prompt names the new parent. Only the
    /// variable `HIVE_PARENT` of what runs stays as it was until a restart, which `needs_update` says.
    ///
    /// # Errors
    /// An unknown agent or parent, a parent that is the agent or below it, the store's failure.
    pub async fn move_agent(&self, name: &str, parent: Parent) -> Result<AgentView, AgentsError> {
        let id = self.row(name).await?.id;
        let moved = self.0.store.write(move |tx| {
            let conn = tx.conn();
            let Some(row) = table::get(conn, id)?.filter(|row| row.removed_at.is_none()) else {
                return Ok(Err(AgentsError::Gone(id)));
            };
            let to = match &parent {
                Parent::Root | Parent::Default => None,
                Parent::Agent(name) => match roster::named(conn, name)? {
                    Some(member) => Some(member.id),
                    None => return Ok(Err(AgentsError::UnknownParent(name.to_string()))),
                },
            };
            if to == row.parent {
                return Ok(Ok(()));
            }
            if let Some(to) = to
                && (to == id || topology::is_below(conn, to, id)?)
            {
                let parent = roster::member(conn, to)?.map(|member| member.name);
                return Ok(Err(AgentsError::Cycle {
                    name: row.name.to_string(),
                    parent: parent.unwrap_or_default(),
                }));
            }
            roster::set_parent(tx, id, row.parent, to).map(Ok)
        });
        moved.await??;
        self.0.sessions.renew(id);
        self.0.look_soon();
        self.view_of(id).await
    }
}
