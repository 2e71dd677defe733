//! `list_schedules`: those of the manager and of the agents below it.

use hive_proto::Refusal;
use hive_proto::v1::ListSchedulesRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};
use super::shown_schedule::Shown;

pub(super) const NAME: &str = "list_schedules";
pub(super) const DOC: &str = "List the schedules that you and the agents below you own, with each \
    target's last result and the next time; also those that have ended lately. Long bodies are cut.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

#[derive(Debug, Serialize)]
pub(super) struct Listed {
    schedules: Vec<Shown>,
}

pub(super) async fn run(
    context: ToolContext,
    _key: CallKey,
    _args: Args,
) -> Result<Listed, Refusal> {
    let request = ListSchedulesRequest { all: true };
    let schedules = context.calls.schedules(request).await?;
    Ok(Listed {
        schedules: schedules.into_iter().map(Into::into).collect(),
    })
}
