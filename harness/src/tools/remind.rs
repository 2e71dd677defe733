//! `remind`: a message to oneself at a time.

use hive_proto::Refusal;
use hive_proto::v1::RemindRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};
use super::moment;

pub(super) const NAME: &str = "remind";
pub(super) const DOC: &str = "Set a reminder for yourself: at its time the message reaches your inbox \
    from `reminder` and begins a turn. It needs no approval and survives restarts.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// What to remind you of.
    message: String,
    /// When: RFC 3339 with an offset, Unix seconds, or a span from now such as `in 10m` or `1h30m`.
    due: Due,
}

/// A number of Unix seconds, or text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Due {
    Unix(i64),
    Text(String),
}

#[derive(Debug, Serialize)]
pub(super) struct Set {
    id: i64,
    due_at: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    already_set: bool,
}

pub(super) async fn run(context: ToolContext, key: CallKey, args: Args) -> Result<Set, Refusal> {
    let request = RemindRequest {
        message: args.message,
        due: match args.due {
            Due::Unix(secs) => secs.to_string(),
            Due::Text(text) => text,
        },
        idempotency_key: context.key(&key),
    };
    let set = context.calls.remind(request).await?;
    Ok(Set {
        id: set.id,
        due_at: moment::shown(set.due_at_ms),
        already_set: set.duplicate,
    })
}
