//! The calls of the command line, as plain results: every status becomes a refusal that says which
//! socket did not answer, or that this socket is not the operator's.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{
    Agent, AgentRef, BackupChunk, BackupRequest, CreateAgentRequest, Event, GetMessageRequest,
    GetStatusRequest, HiveStatus, ListAgentsRequest, ListDeadRequest, ListInboxRequest,
    ListMailboxRequest, LogLine, LogsRequest, MarkReadRequest, Message, MessageLife, Reason,
    RemoveAgentRequest, SendRequest, SendResponse, StopAgentRequest, WaitMessageRequest,
    WakeRequest, WakeResponse, WatchRequest,
};
use tonic::{Code, Response, Status, Streaming};

use super::client::BrokerClient;

/// One attempt of a call that answers at once.
const DEADLINE: Duration = Duration::from_secs(30);

/// Calls for people and scripts: one try each, with a deadline.
#[derive(Clone, Debug)]
pub struct CommandCalls {
    client: BrokerClient,
}

/// What a streaming call answers with.
#[derive(Debug)]
pub struct Items<T> {
    stream: Streaming<T>,
    socket: std::path::PathBuf,
}

// === impl Items ===

impl<T> Items<T> {
    /// The next one; `None` at the end of the stream.
    ///
    /// # Errors
    /// The broker's refusal, or `unavailable` when the stream broke.
    pub async fn next(&mut self) -> Result<Option<T>, Refusal> {
        self.stream
            .message()
            .await
            .map_err(|status| refusal(&status, &self.socket))
    }
}

// === impl CommandCalls ===

impl CommandCalls {
    #[must_use]
    pub fn new(client: BrokerClient) -> Self {
        Self { client }
    }

    /// # Errors
    /// As every call here: the broker's refusal, `unavailable`, `timeout`, or `not_permitted` on an
    /// agent's socket.
    pub async fn status(&self) -> Result<HiveStatus, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_status(GetStatusRequest {})).await
    }

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

    /// # Errors
    /// See [`Self::status`].
    pub async fn logs(&self, request: LogsRequest) -> Result<Items<LogLine>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.logs(request)).await
    }

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

    /// # Errors
    /// See [`Self::status`].
    pub async fn watch(&self, request: WatchRequest) -> Result<Items<Event>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.watch(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn backup(&self) -> Result<Items<BackupChunk>, Refusal> {
        let mut operator = self.client.operator();
        self.items(operator.backup(BackupRequest {})).await
    }

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

    async fn once<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Refusal> {
        self.within(DEADLINE, call).await
    }

    async fn items<T>(
        &self,
        call: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    ) -> Result<Items<T>, Refusal> {
        Ok(Items {
            stream: self.once(call).await?,
            socket: self.client.socket().to_path_buf(),
        })
    }

    async fn within<T>(
        &self,
        deadline: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Refusal> {
        match tokio::time::timeout(deadline, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(refusal(&status, self.client.socket())),
            Err(_) => Err(Refusal::new(
                Reason::Timeout,
                format!("hived did not answer within {} s", deadline.as_secs()),
            )),
        }
    }
}

fn named(name: &str) -> AgentRef {
    AgentRef {
        name: name.to_owned(),
    }
}

/// A status as a refusal: the broker's own word, else what the transport met.
fn refusal(status: &Status, socket: &Path) -> Refusal {
    let carried = Refusal::from_status(status);
    if !status.details().is_empty() {
        return carried;
    }
    match status.code() {
        Code::Unimplemented => not_served(),
        // A connection that cannot be made or that broke surfaces under any of these.
        Code::Unavailable | Code::Unknown | Code::Internal => unreachable(status, socket),
        _ => carried,
    }
}

/// The other side's service was asked: identity is the socket, so this is a matter of permission.
fn not_served() -> Refusal {
    Refusal::new(
        Reason::NotPermitted,
        "this socket does not serve that command",
    )
    .with_hint("inside an agent's container only `hive send`, `hive inbox` and `hive wake` work; the other commands are the operator's")
}

fn unreachable(status: &Status, socket: &Path) -> Refusal {
    let path = socket.display();
    let cause = cause(status);
    let why = match &cause {
        Some(error) => format!("cannot reach hived at {path}: {}", plain(error.kind())),
        None => format!("the connection to hived at {path} broke"),
    };
    let refusal = Refusal::new(Reason::Unavailable, why);
    match cause.map(|error| error.kind()) {
        Some(io::ErrorKind::PermissionDenied) => {
            refusal.with_hint("the operator's socket is for root, the user that hived runs as, and the uids that hive.toml lists under `operators`")
        }
        _ => refusal,
    }
}

/// The error of the operating system at the bottom of a status.
fn cause(status: &Status) -> Option<&io::Error> {
    let mut error = status.source();
    while let Some(inner) = error {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return Some(io);
        }
        error = inner.source();
    }
    None
}

fn plain(kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::NotFound => "there is no such socket".to_owned(),
        io::ErrorKind::ConnectionRefused => "nobody listens".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hive_proto::Refusal;
    use hive_proto::v1::Reason;
    use tonic::Status;

    use super::{BrokerClient, CommandCalls, refusal};

    #[test]
    fn the_brokers_own_word_wins() {
        let sent = Refusal::new(Reason::WrongState, "it does not run").with_hint("start it");
        assert_eq!(refusal(&Status::from(sent.clone()), Path::new("/s")), sent);
    }

    #[test]
    fn the_other_sides_service_is_a_matter_of_permission() {
        let refused = refusal(&Status::unimplemented(""), Path::new("/s"));
        assert_eq!(refused.reason, Reason::NotPermitted);
        assert!(refused.hint.contains("operator"));
    }

    #[tokio::test]
    async fn a_missing_socket_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("x.sock");
        let calls = CommandCalls::new(BrokerClient::connect(&socket));
        let refused = calls.status().await.unwrap_err();
        assert_eq!(refused.reason, Reason::Unavailable);
        assert_eq!(
            refused.message,
            format!(
                "cannot reach hived at {}: there is no such socket",
                socket.display()
            )
        );
    }
}
