//! A harness that the test plays by hand, call by call.

use hive_proto::LEVEL;
use hive_proto::v1::{
    AttendRequest, BeatRequest, Directive, EndTurnRequest, EndTurnResponse, FailureClass,
    HarnessState, OpenSessionRequest, OpenSessionResponse, Outcome, RecvRequest, RecvResponse,
    SendRequest, SendResponse,
};

use crate::client::{Agent, Status, Streaming};

/// One open session.
#[derive(Debug)]
pub struct Session {
    pub client: Agent,
    pub opened: OpenSessionResponse,
    pub instance: String,
    /// Held open: it is the fact "connected".
    pub directives: Option<Streaming<Directive>>,
}

// === impl Session ===

impl Session {
    /// Opens a session as a fresh instance and attends.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn open(client: Agent) -> Result<Self, Status> {
        Self::resume(client, uuid::Uuid::new_v4().to_string()).await
    }

    /// Opens a session as the instance with this name and attends.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn resume(mut client: Agent, instance: String) -> Result<Self, Status> {
        let request = OpenSessionRequest {
            instance: instance.clone(),
            version: "test".to_owned(),
            level: LEVEL,
        };
        let opened = client.open_session(request).await?.into_inner();
        let epoch = opened.epoch;
        let directives = client.attend(AttendRequest { epoch }).await?.into_inner();
        Ok(Self {
            client,
            opened,
            instance,
            directives: Some(directives),
        })
    }

    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.opened.epoch
    }

    /// Takes at most `max` messages, waiting at most `wait_ms` for the first.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn recv(&mut self, max: u32, wait_ms: u32) -> Result<RecvResponse, Status> {
        let request = RecvRequest {
            epoch: self.epoch(),
            max,
            wait_ms,
            ..Default::default()
        };
        Ok(self.client.recv(request).await?.into_inner())
    }

    /// Ends a turn.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn end(&mut self, turn_id: i64, outcome: Outcome) -> Result<EndTurnResponse, Status> {
        self.end_with(turn_id, outcome, FailureClass::Unspecified)
            .await
    }

    /// Ends a turn that failed.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn fail(
        &mut self,
        turn_id: i64,
        class: FailureClass,
    ) -> Result<EndTurnResponse, Status> {
        self.end_with(turn_id, Outcome::Failed, class).await
    }

    async fn end_with(
        &mut self,
        turn_id: i64,
        outcome: Outcome,
        failure: FailureClass,
    ) -> Result<EndTurnResponse, Status> {
        let request = EndTurnRequest {
            epoch: self.epoch(),
            turn_id,
            outcome: outcome.into(),
            failure: failure.into(),
            ..Default::default()
        };
        Ok(self.client.end_turn(request).await?.into_inner())
    }

    /// Sends as the agent.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn send(&mut self, to: &str, body: &str, key: &str) -> Result<SendResponse, Status> {
        let request = SendRequest {
            to: to.to_owned(),
            body: body.to_owned(),
            in_reply_to: None,
            idempotency_key: key.to_owned(),
        };
        Ok(self.client.send(request).await?.into_inner())
    }

    /// Says that it is idle and alive.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn beat(&mut self, state: HarnessState) -> Result<(), Status> {
        let request = BeatRequest {
            epoch: self.epoch(),
            state: state.into(),
            ..Default::default()
        };
        self.client.beat(request).await.map(drop)
    }
}
