//! `ask`: a question to the operator or to a peer, with or without waiting for the answer.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::ids::MessageId;
use hive_proto::limits::{ASK_WAIT_SECS, RECV_WAIT_MS, TOOL_RETRY_SECS};
use hive_proto::v1::{AskRequest, Question, QuestionState, Reason, WaitAnswerRequest};
use hive_proto::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::context::{CallKey, ToolContext};
use super::moment;
use crate::broker::backoff::Backoff;

pub(super) const NAME: &str = "ask";
pub(super) const DOC: &str = "Ask a question that somebody has to decide. It returns the question's id \
    at once, and the answer reaches your inbox later as a `question_answered` message. With \
    wait_seconds the call waits that long and returns the answer when it comes in time. Ask only what \
    you cannot decide yourself.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The question, complete in itself: whoever answers may not know what you are doing.
    question: String,
    /// Suggested answers. Any other text stays possible.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several of the options may be chosen at once.
    #[serde(default)]
    multi: bool,
    /// Seconds after which it expires with the answer `[expired]`; at most six hours. Never when left
    /// out.
    #[serde(default)]
    ttl_seconds: Option<u64>,
    /// Who is asked: `operator` when left out, an agent's name, `manager` or `<parent>`.
    #[serde(default)]
    to: String,
    /// Seconds to wait for the answer in this call, at most 900. Not at all when left out.
    #[serde(default)]
    wait_seconds: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct Asked {
    id: i64,
    to: String,
    state: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already_asked: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    recipient_state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answerer: Option<String>,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Asked, Refusal> {
    let request = AskRequest {
        question: args.question,
        options: args.options,
        multi: args.multi,
        ttl_secs: args.ttl_seconds.unwrap_or(0),
        to: args.to,
        idempotency_key: context.key(&key),
    };
    let asked = context.calls.ask(request).await?;
    let mut shown = Asked {
        id: asked.id,
        to: asked.target,
        state: words::question_state(QuestionState::Open),
        already_asked: asked.duplicate,
        recipient_state: asked.target_state,
        deadline_at: (asked.deadline_at_ms != 0).then(|| moment::shown(asked.deadline_at_ms)),
        answer: None,
        answerer: None,
    };
    let wait = args.wait_seconds.unwrap_or(0).min(ASK_WAIT_SECS);
    if wait == 0 {
        return Ok(shown);
    }
    if let Some(question) = answer(&context, asked.id, wait).await? {
        shown.state = words::question_state(question.state());
        shown.answer = Some(question.answer);
        shown.answerer = Some(question.answerer);
    }
    Ok(shown)
}

/// The decided question, in long polls; none when it is still open in the end. Its message is leased
/// under the turn with the reply, so the model is told once: here.
async fn answer(
    context: &ToolContext,
    id: i64,
    wait_secs: u32,
) -> Result<Option<Question>, Refusal> {
    let until = Instant::now() + Duration::from_secs(wait_secs.into());
    let give_up = until + Duration::from_secs(TOOL_RETRY_SECS);
    let mut backoff = Backoff::default();
    loop {
        let Some(open) = context.current.get() else {
            return Err(Refusal::new(Reason::WrongState, "no turn is running"));
        };
        let left = until.saturating_duration_since(Instant::now());
        let left_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        let request = WaitAnswerRequest {
            epoch: context.epoch().await?,
            turn_id: open.turn.0,
            held: open.seen.iter().map(|id| id.0).collect(),
            id,
            wait_ms: left_ms.min(RECV_WAIT_MS),
        };
        let waited = match context.calls.wait_answer(request).await {
            Err(why) if why.reason == Reason::Unavailable && Instant::now() < give_up => {
                tokio::time::sleep(backoff.wait()).await;
                continue;
            }
            answered => answered?,
        };
        if waited.message_id != 0
            && !context
                .current
                .see(open.turn, [MessageId(waited.message_id)])
        {
            return Err(Refusal::new(Reason::WrongState, "the turn has ended"));
        }
        match waited.question {
            Some(question) if question.state() != QuestionState::Open => return Ok(Some(question)),
            Some(_) | None if Instant::now() >= until => return Ok(None),
            Some(_) | None => {}
        }
    }
}
