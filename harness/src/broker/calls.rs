//! The calls of `AgentService` with their deadlines and their patience, as plain results.
//!
//! A call with a key is retried while the broker is away, since its replay changes nothing. Without
//! a key only what reads is retried.

use std::future::Future;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::limits::TOOL_RETRY_SECS;
use hive_proto::v1::{
    AgentMeta, BeatRequest, BeatResponse, EndTurnRequest, EndTurnResponse, GetAgentMetaRequest,
    OpenSessionRequest, OpenSessionResponse, Reason, RecvRequest, RecvResponse, SendRequest,
    SendResponse, SetStatusRequest,
};
use tokio::time::Instant;
use tonic::{Code, Response, Status};

use super::backoff::Backoff;
use super::client::BrokerClient;

/// One attempt of a call that answers at once. Longer than a group commit on a busy disk.
pub(super) const DEADLINE: Duration = Duration::from_secs(15);

/// How long a call is tried again while the broker is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// One try.
    None,
    /// As long as a tool call may take: 60 s.
    Tool,
    /// Until it is answered, also over a full disk and other faults of the broker's own.
    Forever,
}

/// Calls `AgentService`; cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentCalls {
    client: BrokerClient,
}

// === impl AgentCalls ===

impl AgentCalls {
    #[must_use]
    pub fn new(client: BrokerClient) -> Self {
        Self { client }
    }

    pub(super) fn client(&self) -> &BrokerClient {
        &self.client
    }

    pub(super) async fn open(
        &self,
        request: OpenSessionRequest,
    ) -> Result<OpenSessionResponse, Refusal> {
        let mut agent = self.client.agent();
        once(DEADLINE, agent.open_session(request)).await
    }

    pub(super) async fn beat(&self, request: BeatRequest) -> Result<BeatResponse, Refusal> {
        let mut agent = self.client.agent();
        once(DEADLINE, agent.beat(request)).await
    }

    /// One long poll; the rows are leased. An answer that is lost or dropped is handed out again by
    /// the next one.
    ///
    /// # Errors
    /// `unavailable` when the broker went away, `stale_epoch` when the session was fenced.
    pub async fn recv(&self, request: RecvRequest) -> Result<RecvResponse, Refusal> {
        let deadline = Duration::from_millis(request.wait_ms.into()) + DEADLINE;
        let mut agent = self.client.agent();
        once(deadline, agent.recv(request)).await
    }

    /// Settles a turn; idempotent, so it is retried.
    ///
    /// # Errors
    /// Everything that a later try would not change, such as `stale_epoch`.
    pub async fn end_turn(&self, request: EndTurnRequest) -> Result<EndTurnResponse, Refusal> {
        retry(Patience::Forever, || {
            let (mut agent, request) = (self.client.agent(), request.clone());
            async move { once(DEADLINE, agent.end_turn(request)).await }
        })
        .await
    }

    /// Sends; the request must carry a key, so that a retry cannot send twice.
    ///
    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn send(&self, request: SendRequest) -> Result<SendResponse, Refusal> {
        let patience = match request.idempotency_key.as_str() {
            "" => Patience::None,
            _ => Patience::Tool,
        };
        retry(patience, || {
            let (mut agent, request) = (self.client.agent(), request.clone());
            async move { once(DEADLINE, agent.send(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn get_agent_meta(&self, name: &str) -> Result<AgentMeta, Refusal> {
        retry(Patience::Tool, || {
            let mut agent = self.client.agent();
            let request = GetAgentMetaRequest {
                name: name.to_owned(),
            };
            async move { once(DEADLINE, agent.get_agent_meta(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn set_status(&self, text: &str) -> Result<(), Refusal> {
        retry(Patience::Tool, || {
            let mut agent = self.client.agent();
            let request = SetStatusRequest {
                text: text.to_owned(),
            };
            async move { once(DEADLINE, agent.set_status(request)).await }
        })
        .await
        .map(|_| ())
    }
}

/// Tries until the answer is final or the patience ends; the last refusal is the result.
pub(super) async fn retry<T, F, Fut>(patience: Patience, mut call: F) -> Result<T, Refusal>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, Refusal>>,
{
    let begun = Instant::now();
    let mut backoff = Backoff::default();
    loop {
        let refusal = match call().await {
            Ok(answer) => return Ok(answer),
            Err(refusal) => refusal,
        };
        let away = matches!(refusal.reason, Reason::Unavailable | Reason::Timeout);
        let again = match patience {
            Patience::None => false,
            Patience::Tool => away && begun.elapsed() < Duration::from_secs(TOOL_RETRY_SECS),
            Patience::Forever => may_pass(refusal.reason),
        };
        if !again {
            return Err(refusal);
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// One attempt within `deadline`.
pub(super) async fn once<T>(
    deadline: Duration,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Refusal> {
    match tokio::time::timeout(deadline, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(refusal(&status)),
        Err(_) => Err(Refusal::new(
            Reason::Timeout,
            format!("the broker did not answer within {} s", deadline.as_secs()),
        )),
    }
}

/// A status as a refusal. A broken connection surfaces as `Unknown`, `Internal` or `Cancelled`
/// without a detail of ours; every answer of the broker's own carries one.
pub(super) fn refusal(status: &Status) -> Refusal {
    if let Some(refusal) = Refusal::carried(status) {
        return refusal;
    }
    let broken = matches!(
        status.code(),
        Code::Unknown | Code::Internal | Code::Cancelled | Code::Unavailable
    );
    if broken {
        return Refusal::new(Reason::Unavailable, "the broker is away");
    }
    Refusal::from_status(status)
}

/// Whether trying again later can help without anyone acting on this agent.
pub(super) fn may_pass(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unavailable
            | Reason::Timeout
            | Reason::Internal
            | Reason::StorageFull
            | Reason::RateLimited
            | Reason::LimitReached
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hive_proto::Refusal;
    use hive_proto::v1::Reason;
    use tonic::Status;

    use super::{Patience, refusal, retry};

    #[test]
    fn a_broken_connection_is_unavailable_and_an_answer_is_not() {
        let broken = refusal(&Status::unknown("h2 protocol error"));
        assert_eq!(broken.reason, Reason::Unavailable);
        let answer = Status::from(Refusal::new(Reason::Internal, "it broke"));
        assert_eq!(refusal(&answer).reason, Reason::Internal);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_and_refusals_end_it_at_once() {
        let tries = Cell::new(0_u32);
        let run = |patience, reason| {
            let tries = &tries;
            async move {
                tries.set(0);
                let result: Result<(), Refusal> = retry(patience, || {
                    tries.set(tries.get() + 1);
                    std::future::ready(Err(Refusal::new(reason, "no")))
                })
                .await;
                (tries.get(), result.unwrap_err().reason)
            }
        };
        assert_eq!(
            run(Patience::None, Reason::Unavailable).await,
            (1, Reason::Unavailable)
        );
        assert_eq!(
            run(Patience::Tool, Reason::StaleEpoch).await,
            (1, Reason::StaleEpoch)
        );
        let begun = tokio::time::Instant::now();
        let (tries, reason) = run(Patience::Tool, Reason::Unavailable).await;
        assert!(tries > 50, "{tries} tries");
        assert_eq!(reason, Reason::Unavailable);
        assert!((60..63).contains(&begun.elapsed().as_secs()));
    }
}
