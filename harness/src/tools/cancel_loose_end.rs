//! `cancel_loose_end`: gives up something that is still open.

use hive_proto::Refusal;
use hive_proto::v1::CancelLooseEndRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "cancel_loose_end";
pub(super) const DOC: &str = "Give up one of your loose ends: withdraw a question that you asked, cancel \
    a reminder, take back what you asked the operator to approve, or, as a manager, end a schedule. A \
    manager may also cancel those of agents below it.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Its kind as `get_loose_ends` shows it: `question`, `reminder`, `approval` or `schedule`.
    kind: String,
    /// Its id.
    id: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct Cancelled {
    kind: String,
    id: i64,
    state: &'static str,
}

pub(super) async fn run(
    context: ToolContext,
    _key: CallKey,
    args: Args,
) -> Result<Cancelled, Refusal> {
    let request = CancelLooseEndRequest {
        kind: args.kind.clone(),
        id: args.id,
    };
    context.calls.cancel_loose_end(request).await?;
    Ok(Cancelled {
        kind: args.kind,
        id: args.id,
        state: "cancelled",
    })
}
