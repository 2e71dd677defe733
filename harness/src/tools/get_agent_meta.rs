//! `get_agent_meta`: who an agent is; without a name, who the caller is.

use hive_proto::Refusal;
use hive_proto::ids::UnixMs;
use hive_proto::words::role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "get_agent_meta";
pub(super) const DOC: &str = "Look up an agent: its role, parent, state, whether it runs, and its \
    status line. Without a name it describes yourself.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The agent's name; leave it out for yourself.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Meta {
    name: String,
    role: &'static str,
    parent: String,
    state: String,
    running: bool,
    hive_rev: String,
    status_text: Option<String>,
    status_set_at: Option<String>,
}

pub(super) async fn run(context: ToolContext, _key: CallKey, args: Args) -> Result<Meta, Refusal> {
    let name = args.name.unwrap_or_default();
    let meta = context.calls.get_agent_meta(&name).await?;
    let set = !meta.status_text.is_empty();
    Ok(Meta {
        role: role(meta.role()),
        name: meta.name,
        parent: meta.parent,
        state: meta.state,
        running: meta.running,
        hive_rev: meta.hive_rev,
        status_set_at: set.then(|| UnixMs(meta.status_set_at_ms).rfc3339()),
        status_text: set.then_some(meta.status_text),
    })
}
