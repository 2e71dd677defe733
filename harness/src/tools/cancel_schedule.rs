//! `cancel_schedule`: ends a schedule, or takes targets out of it.

use hive_proto::Refusal;
use hive_proto::v1::CancelScheduleRequest;
use schemars::JsonSchema;
use serde::Deserialize;

use super::context::{CallKey, ToolContext};
use super::shown_schedule::Shown;

pub(super) const NAME: &str = "cancel_schedule";
pub(super) const DOC: &str = "Cancel a schedule that you own or that an agent below you owns. With \
    targets only these get it no more, and it ends when none is left. Needs no approval.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The schedule's id.
    id: i64,
    /// Only these targets; the whole schedule when absent or empty.
    #[serde(default)]
    targets: Vec<String>,
}

pub(super) async fn run(context: ToolContext, _key: CallKey, args: Args) -> Result<Shown, Refusal> {
    let request = CancelScheduleRequest {
        id: args.id,
        targets: args.targets,
    };
    Ok(context.calls.cancel_schedule(request).await?.into())
}
