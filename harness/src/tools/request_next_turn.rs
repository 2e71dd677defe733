//! `request_next_turn`: go on right after this turn, even when nothing waits.

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "request_next_turn";
pub(super) const DOC: &str = "Ask for another turn right after this one, even if your inbox is \
    empty: it begins with a message from `self` saying `continue`. It does nothing if other \
    messages arrive before this turn ends.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

#[derive(Debug, Serialize)]
pub(super) struct Requested {
    requested: bool,
}

pub(super) async fn run(
    context: ToolContext,
    _key: CallKey,
    _args: Args,
) -> Result<Requested, Refusal> {
    if context.current.request_next() {
        Ok(Requested { requested: true })
    } else {
        Err(Refusal::new(Reason::WrongState, "no turn is running"))
    }
}
