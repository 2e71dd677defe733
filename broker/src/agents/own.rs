//! What an agent asks about itself and says of itself.

use hive_proto::ids::AgentId;
use hive_proto::limits::STATUS_CHARS;

use super::error::AgentsError;
use super::service::Agents;
use super::view::AgentView;
use crate::store::agents as table;

// === impl Agents ===

impl Agents {
    /// The agent with that id.
    ///
    /// # Errors
    /// When it is gone, the store's failure.
    pub async fn own(&self, id: AgentId) -> Result<AgentView, AgentsError> {
        self.view_of(id).await
    }

    /// Sets the agent's status line: the first line of `text`, cut to 200 characters; empty clears it.
    ///
    /// # Errors
    /// When it is removed, the store's failure.
    pub async fn set_status(&self, id: AgentId, text: &str) -> Result<(), AgentsError> {
        let line = text.lines().next().unwrap_or_default().trim();
        let visible = line.chars().filter(|c| !c.is_control());
        let line: String = visible.take(STATUS_CHARS).collect();
        let set = self
            .0
            .store
            .write(move |tx| table::set_status(tx, id, &line));
        Ok(set.await?)
    }
}
