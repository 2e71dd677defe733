//! The operator's calls about agents.

use hive_proto::Refusal;
use hive_proto::v1::{
    Agent, AgentRef, CreateAgentRequest, ListAgentsRequest, RemoveAgentRequest, StopAgentRequest,
};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn agents(&self) -> Result<Vec<Agent>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_agents(ListAgentsRequest {}));
        Ok(answer.await?.agents)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn agent(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_agent(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn create_agent(&self, request: CreateAgentRequest) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.create_agent(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn start_agent(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.start_agent(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn stop_agent(&self, request: StopAgentRequest) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.stop_agent(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn restart_agent(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.restart_agent(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn pause_agent(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.pause_agent(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn resume_agent(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.resume_agent(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn cancel_turn(&self, name: &str) -> Result<Agent, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.cancel_turn(named(name))).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn remove_agent(&self, request: RemoveAgentRequest) -> Result<(), Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.remove_agent(request)).await.map(drop)
    }
}

fn named(name: &str) -> AgentRef {
    AgentRef {
        name: name.to_owned(),
    }
}
