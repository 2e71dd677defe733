//! `send`: a message to a peer, to the operator, or up the tree.

use hive_proto::Refusal;
use hive_proto::v1::SendRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "send";
pub(super) const DOC: &str = "Send a message. It is stored before this returns and wakes the \
    recipient. A send to whoever sent you the message of this turn is a reply to it by itself. The \
    result says what state the recipient is in; a message to a stopped agent waits for it.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// An agent's name, `operator`, `manager` (the nearest manager above you), `<parent>` (whoever
    /// you report to), or `*` for every other agent.
    to: String,
    /// The text, at most 1 MiB. Put anything longer into a file and send its path.
    body: String,
    /// Id of the message that this answers. Leave it out for a reply to the sender of this turn's
    /// message; 0 says that it is a reply to nothing.
    #[serde(default)]
    in_reply_to: Option<i64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Sent {
    id: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already_sent: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    recipient_state: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deliveries: Vec<Delivery>,
}

#[derive(Debug, Serialize)]
struct Delivery {
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Sent, Refusal> {
    let request = SendRequest {
        to: args.to,
        body: args.body,
        in_reply_to: args.in_reply_to,
        idempotency_key: context.key(&key),
    };
    let sent = context.calls.send(request).await?;
    Ok(Sent {
        id: sent.id,
        already_sent: sent.duplicate,
        recipient_state: sent.recipient_state,
        deliveries: sent.deliveries.into_iter().map(delivery).collect(),
    })
}

fn delivery(one: hive_proto::v1::Delivery) -> Delivery {
    Delivery {
        to: one.to,
        id: (one.id != 0).then_some(one.id),
        error: one.error.map(|error| error.message),
    }
}
