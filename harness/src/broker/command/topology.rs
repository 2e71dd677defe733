//! The operator's calls about the tree of agents and what each may do.

use hive_proto::Refusal;
use hive_proto::v1::{Agent, MoveAgentRequest, SetAgentRightsRequest};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn move_agent(&self, request: MoveAgentRequest) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.move_agent(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn set_agent_rights(&self, request: SetAgentRightsRequest) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.set_agent_rights(request)).await
    }
}
