//! The calls of `AgentService` about questions, reminders and loose ends. Each is the same call when it
//! is made again: by its key, or because what it asks for is a state.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{
    AnswerQuestionRequest, AskRequest, AskResponse, CancelLooseEndRequest, GetLooseEndsRequest,
    LooseEnd, Question, RemindRequest, RemindResponse, WaitAnswerRequest, WaitAnswerResponse,
};

use super::calls::{AgentCalls, DEADLINE, Patience, once, retry};

impl AgentCalls {
    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn ask(&self, request: AskRequest) -> Result<AskResponse, Refusal> {
        retry(Patience::Tool, || {
            let (mut agent, request) = (self.client().agent(), request.clone());
            async move { once(DEADLINE, agent.ask(request)).await }
        })
        .await
    }

    /// One long poll. An answer that was lost on its way is handed out again by the next one.
    ///
    /// # Errors
    /// `unavailable` when the broker went away, `stale_epoch` when the session was fenced.
    pub async fn wait_answer(
        &self,
        request: WaitAnswerRequest,
    ) -> Result<WaitAnswerResponse, Refusal> {
        let deadline = Duration::from_millis(request.wait_ms.into()) + DEADLINE;
        let mut agent = self.client().agent();
        once(deadline, agent.wait_answer(request)).await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn answer(&self, request: AnswerQuestionRequest) -> Result<Question, Refusal> {
        retry(Patience::Tool, || {
            let (mut agent, request) = (self.client().agent(), request.clone());
            async move { once(DEADLINE, agent.answer_question(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn loose_ends(&self, agent: &str) -> Result<Vec<LooseEnd>, Refusal> {
        let found = retry(Patience::Tool, || {
            let mut client = self.client().agent();
            let request = GetLooseEndsRequest {
                agent: agent.to_owned(),
            };
            async move { once(DEADLINE, client.get_loose_ends(request)).await }
        });
        Ok(found.await?.loose_ends)
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn cancel_loose_end(&self, request: CancelLooseEndRequest) -> Result<(), Refusal> {
        let cancelled = retry(Patience::Tool, || {
            let (mut agent, request) = (self.client().agent(), request.clone());
            async move { once(DEADLINE, agent.cancel_loose_end(request)).await }
        });
        cancelled.await.map(|_| ())
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn remind(&self, request: RemindRequest) -> Result<RemindResponse, Refusal> {
        retry(Patience::Tool, || {
            let (mut agent, request) = (self.client().agent(), request.clone());
            async move { once(DEADLINE, agent.remind(request)).await }
        })
        .await
    }
}
