//! `set_status`: the one line that the operator sees beside the agent.

use hive_proto::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "set_status";
pub(super) const DOC: &str = "Set the one-line status that the operator sees beside your name, such \
    as what you are working on. At most 200 characters; an empty text clears it.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// One line of at most 200 characters; empty clears.
    text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Set {
    status_text: String,
}

pub(super) async fn run(context: ToolContext, _key: CallKey, args: Args) -> Result<Set, Refusal> {
    context.calls.set_status(&args.text).await?;
    Ok(Set {
        status_text: args.text,
    })
}
