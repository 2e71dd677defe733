//! `get_loose_ends`: whatever is still open for the agent.

use hive_proto::Refusal;
use hive_proto::v1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};
use super::moment;

pub(super) const NAME: &str = "get_loose_ends";
pub(super) const DOC: &str = "List what is still open for you: questions that you asked or that wait \
    for your answer, reminders that you set, what you asked the operator to approve, schedules that you \
    own. Each has the kind and the id that `cancel_loose_end` takes.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// For managers: an agent below you, or `*` for all of them and yourself. Leave it out for your own.
    #[serde(default)]
    agent: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Found {
    loose_ends: Vec<LooseEnd>,
}

#[derive(Debug, Serialize)]
struct LooseEnd {
    kind: String,
    id: i64,
    agent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    waits_for: String,
    state: String,
    text: String,
    since: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<String>,
}

pub(super) async fn run(context: ToolContext, _key: CallKey, args: Args) -> Result<Found, Refusal> {
    let found = context.calls.loose_ends(&args.agent).await?;
    Ok(Found {
        loose_ends: found.into_iter().map(shown).collect(),
    })
}

fn shown(one: v1::LooseEnd) -> LooseEnd {
    LooseEnd {
        kind: one.kind,
        id: one.id,
        agent: one.agent,
        waits_for: one.waits_for,
        state: one.state,
        text: one.text,
        since: moment::shown(one.since_ms),
        due_at: (one.due_ms != 0).then(|| moment::shown(one.due_ms)),
    }
}
