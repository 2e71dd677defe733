//! Sending, answers and the lives of messages, in one line each.

use std::time::{Duration, Instant};

use hive_proto::v1::{
    CreateAgentRequest, Event, GetMessageRequest, ListMailboxRequest, Message, MessageLife,
    MessageState, Role, SendRequest, SendResponse, WaitMessageRequest, WatchRequest,
};

use crate::client::{Status, Streaming};
use crate::hive::TestHive;

// === impl TestHive ===

impl TestHive {
    /// Creates an agent with rules of its own (empty: the hive's).
    pub async fn create(&mut self, name: &str, script: &str) {
        self.remember(name);
        let request = CreateAgentRequest {
            name: name.to_owned(),
            engine: "scripted".to_owned(),
            script: script.to_owned(),
            ..Default::default()
        };
        self.create_as(request).await.expect("the agent is created");
    }

    /// Creates a root manager.
    pub async fn create_manager(&mut self, name: &str, script: &str) {
        self.remember(name);
        let request = CreateAgentRequest {
            name: name.to_owned(),
            role: Role::Manager.into(),
            parent: "operator".to_owned(),
            engine: "scripted".to_owned(),
            script: script.to_owned(),
            ..Default::default()
        };
        self.create_as(request)
            .await
            .expect("the manager is created");
    }

    /// Creates an agent from a request.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn create_as(&mut self, request: CreateAgentRequest) -> Result<(), Status> {
        self.remember(&request.name);
        let name = request.name.clone();
        self.operator().create_agent(request).await?;
        if self.is_by_hand() {
            // The start of its process ends what sessions there were before.
            self.until_started(&name).await;
        }
        Ok(())
    }

    /// Sends as the operator.
    ///
    /// # Errors
    /// The broker's refusal.
    pub async fn try_send(&self, to: &str, body: &str, key: &str) -> Result<SendResponse, Status> {
        let request = SendRequest {
            to: to.to_owned(),
            body: body.to_owned(),
            in_reply_to: None,
            idempotency_key: key.to_owned(),
        };
        Ok(self.operator().send(request).await?.into_inner())
    }

    /// Sends as the operator and returns the id.
    pub async fn send(&self, to: &str, body: &str) -> i64 {
        self.try_send(to, body, "")
            .await
            .expect("the message is queued")
            .id
    }

    /// A message's life.
    pub async fn life(&self, id: i64) -> MessageLife {
        self.operator()
            .get_message(GetMessageRequest { id })
            .await
            .expect("the message exists")
            .into_inner()
    }

    /// Waits until `enough` says so of a message's life; long polls, so that nothing is polled.
    pub async fn until_life(
        &self,
        id: i64,
        what: &str,
        limit: Duration,
        enough: impl Fn(&MessageLife) -> bool,
    ) -> MessageLife {
        let start = Instant::now();
        loop {
            let life = self.life(id).await;
            if enough(&life) {
                return life;
            }
            assert!(
                start.elapsed() < limit,
                "waited {limit:?} in vain until message {id} {what}: {life:#?}"
            );
            crate::wait::pass(Duration::from_millis(20)).await;
        }
    }

    /// Waits for the answer to a message of the operator.
    pub async fn answer(&self, id: i64, limit: Duration) -> Message {
        let start = Instant::now();
        loop {
            let request = WaitMessageRequest { id, wait_ms: 1_000 };
            let life = match self.operator().wait_message(request).await {
                Ok(life) => life.into_inner(),
                // The daemon is away for a moment: this helper outlives that.
                Err(_) => MessageLife::default(),
            };
            if let Some(reply) = life.replies.first() {
                return reply.clone();
            }
            assert!(
                start.elapsed() < limit,
                "message {id} was not answered within {limit:?}: {life:#?}"
            );
            crate::wait::pass(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a message is acked.
    pub async fn acked(&self, id: i64, limit: Duration) -> MessageLife {
        self.until_life(id, "is acked", limit, |life| {
            state(life) == MessageState::Acked
        })
        .await
    }

    /// The newest messages of a mailbox (empty: the operator's), oldest first.
    pub async fn mailbox(&self, name: &str) -> Vec<Message> {
        let request = ListMailboxRequest {
            name: name.to_owned(),
            limit: 500,
            unread_only: false,
        };
        self.operator()
            .list_inbox(request)
            .await
            .expect("the mailbox is listed")
            .into_inner()
            .messages
    }

    /// Events after `since` (0: from the beginning), then live ones.
    pub async fn watch(&self, since: i64) -> Streaming<Event> {
        let request = WatchRequest {
            since_seq: Some(since),
            agent: String::new(),
        };
        self.operator()
            .watch(request)
            .await
            .expect("events can be watched")
            .into_inner()
    }

    /// Waits for an event that `wanted` recognises, among those after `since`.
    pub async fn event(
        &self,
        since: i64,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&Event) -> bool,
    ) -> Event {
        let find = async {
            let mut events = self.watch(since).await;
            while let Some(event) = events.message().await.expect("the stream goes on") {
                if wanted(&event) {
                    return event;
                }
            }
            panic!("the stream of events ended before {what}");
        };
        tokio::time::timeout(limit, find)
            .await
            .unwrap_or_else(|_| panic!("no event within {limit:?}: {what}"))
    }

    /// Seq of the newest event.
    pub async fn last_seq(&self) -> i64 {
        let mut last = 0;
        let mut events = self.watch(0).await;
        // The past comes at once; silence means that it is over.
        while let Ok(Ok(Some(event))) =
            tokio::time::timeout(Duration::from_millis(300), events.message()).await
        {
            last = event.seq;
        }
        last
    }
}

/// State of the message.
#[must_use]
pub fn state(life: &MessageLife) -> MessageState {
    life.message
        .as_ref()
        .map(Message::state)
        .unwrap_or_default()
}

/// Deaths of the message.
#[must_use]
pub fn attempt(life: &MessageLife) -> u32 {
    life.message
        .as_ref()
        .map(|message| message.attempt)
        .unwrap_or_default()
}
