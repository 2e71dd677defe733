//! Calls on an agent's own socket: what a process beside the agent may do.

use hive_proto::Refusal;
use hive_proto::v1::{
    ListInboxRequest, Message, SendRequest, SendResponse, WakeRequest, WakeResponse,
};

use super::CommandCalls;

impl CommandCalls {
    /// Sends as the agent whose socket this is.
    ///
    /// # Errors
    /// `not_permitted` on the operator's socket; otherwise as [`Self::status`].
    pub async fn send_as_agent(&self, request: SendRequest) -> Result<SendResponse, Refusal> {
        let mut agent = self.client.agent();
        self.once(agent.send(request)).await
    }

    /// The inbox of the agent whose socket this is.
    ///
    /// # Errors
    /// See [`Self::send_as_agent`].
    pub async fn own_inbox(&self, request: ListInboxRequest) -> Result<Vec<Message>, Refusal> {
        let mut agent = self.client.agent();
        Ok(self.once(agent.list_inbox(request)).await?.messages)
    }

    /// # Errors
    /// See [`Self::send_as_agent`].
    pub async fn wake(&self, request: WakeRequest) -> Result<WakeResponse, Refusal> {
        let mut agent = self.client.agent();
        self.once(agent.wake(request)).await
    }
}
