//! `recv`: more messages of the inbox into the running turn.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::ids::MessageId;
use hive_proto::limits::{RECV_ROWS, RECV_WAIT_MS, TOOL_RETRY_SECS};
use hive_proto::v1::{Message, Reason, RecvRequest, RecvResponse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::context::{CallKey, ToolContext};
use crate::broker::backoff::Backoff;
use crate::turn::spill;

pub(super) const NAME: &str = "recv";
pub(super) const DOC: &str = "Take messages from your inbox, oldest first. Without wait_seconds it \
    returns at once. With wait_seconds it waits up to that long for the first message and returns \
    an empty list if none came. What you take belongs to this turn and is done when the turn is.";

/// Longest wait, in seconds.
const WAIT_CAP: u32 = RECV_WAIT_MS / 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Seconds to wait for the first message, at most 180; 0 or absent looks and returns.
    #[serde(default)]
    wait_seconds: Option<u32>,
    /// Messages to take, at most 32; 1 when absent.
    #[serde(default)]
    max: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct Received {
    messages: Vec<Item>,
    /// Still waiting behind these.
    remaining: u32,
}

#[derive(Debug, Serialize)]
struct Item {
    id: i64,
    from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redelivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Where a long body was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_file: Option<String>,
}

pub(super) async fn run(
    context: ToolContext,
    _key: CallKey,
    args: Args,
) -> Result<Received, Refusal> {
    let Some(open) = context.current.get() else {
        return Err(Refusal::new(Reason::WrongState, "no turn is running"));
    };
    let request = RecvRequest {
        epoch: 0,
        max: args.max.unwrap_or(1).clamp(1, RECV_ROWS),
        wait_ms: args.wait_seconds.unwrap_or(0).min(WAIT_CAP) * 1000,
        turn_id: open.turn.0,
        held: open.seen.iter().map(|id| id.0).collect(),
    };
    let got = patiently(&context, request).await?;
    let ids = got.messages.iter().map(|message| MessageId(message.id));
    if !context.current.see(open.turn, ids) {
        return Err(Refusal::new(Reason::WrongState, "the turn has ended"));
    }
    Ok(Received {
        messages: got
            .messages
            .into_iter()
            .map(|message| item(&context, message))
            .collect(),
        remaining: got.remaining,
    })
}

/// Asks again when the broker went away: rows of an answer that was lost are handed out again, since
/// the request says which ones were seen.
async fn patiently(
    context: &ToolContext,
    mut request: RecvRequest,
) -> Result<RecvResponse, Refusal> {
    let mut backoff = Backoff::default();
    let deadline = Instant::now()
        + Duration::from_millis(request.wait_ms.into())
        + Duration::from_secs(TOOL_RETRY_SECS);
    loop {
        request.epoch = context.epoch().await?;
        match context.calls.recv(request.clone()).await {
            Err(why) if why.reason == Reason::Unavailable && Instant::now() < deadline => {
                tokio::time::sleep(backoff.wait()).await;
            }
            answer => return answer,
        }
    }
}

/// A body that cannot be spilled is better given inline than lost.
fn item(context: &ToolContext, message: Message) -> Item {
    let spilled = spill(&context.state, message.id, &message.body).unwrap_or_else(|error| {
        tracing::warn!(message.id = message.id, %error, "a long body stays inline");
        None
    });
    Item {
        id: message.id,
        from: message.from,
        in_reply_to: message.in_reply_to,
        redelivered: message.redelivered,
        body: spilled.is_none().then_some(message.body),
        body_file: spilled.map(|path| path.display().to_string()),
    }
}
