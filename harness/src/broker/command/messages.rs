//! The operator's mail: sending, mailboxes, one message's life, dead letters.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{
    GetMessageRequest, ListDeadRequest, ListMailboxRequest, MarkReadRequest, Message, MessageLife,
    SendRequest, SendResponse, WaitMessageRequest,
};

use super::CommandCalls;
use super::calls::DEADLINE;

impl CommandCalls {
    /// Sends as the operator.
    ///
    /// # Errors
    /// See [`Self::status`].
    pub async fn send(&self, request: SendRequest) -> Result<SendResponse, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.send(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn mailbox(&self, request: ListMailboxRequest) -> Result<Vec<Message>, Refusal> {
        let mut operator = self.client.operator();
        Ok(self.once(operator.list_inbox(request)).await?.messages)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn mark_read(&self, ids: Vec<i64>) -> Result<(), Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.mark_read(MarkReadRequest { ids }))
            .await
            .map(drop)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn message(&self, id: i64) -> Result<MessageLife, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_message(GetMessageRequest { id }))
            .await
    }

    /// Returns when the message is acked or dead, when it was answered, or after `wait`.
    ///
    /// # Errors
    /// See [`Self::status`].
    pub async fn wait_message(&self, id: i64, wait: Duration) -> Result<MessageLife, Refusal> {
        let mut operator = self.client.operator();
        let wait_ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        let call = operator.wait_message(WaitMessageRequest { id, wait_ms });
        self.within(wait + DEADLINE, call).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn dead(&self) -> Result<Vec<Message>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_dead(ListDeadRequest {}));
        Ok(answer.await?.messages)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn requeue_dead(&self, id: i64) -> Result<MessageLife, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.requeue_dead(GetMessageRequest { id }))
            .await
    }
}
