//! From the engine's list of containers to instances.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum as Engine};
use hive_proto::ids::AgentId;

use super::request::{LABEL_AGENT, LABEL_BINARY, LABEL_NAME, LABEL_SPEC};
use crate::runtime::{Exit, Instance, Status};

/// One container of this hive; none when its labels are not what hive wrote.
pub(super) fn instance(summary: ContainerSummary) -> Option<Instance> {
    let labels = summary.labels.unwrap_or_default();
    let text = summary.status.unwrap_or_default();
    let status = match summary.state.unwrap_or(Engine::EMPTY) {
        Engine::CREATED => Status::Created,
        Engine::RUNNING | Engine::RESTARTING | Engine::STOPPING => Status::Running,
        Engine::PAUSED => Status::Frozen,
        Engine::EXITED | Engine::DEAD | Engine::REMOVING | Engine::EMPTY => Status::Exited(Exit {
            code: exit_code(&text),
            out_of_memory: false,
        }),
    };
    Some(Instance {
        id: summary.id?,
        name: labels.get(LABEL_NAME)?.parse().ok()?,
        agent_id: agent(&labels)?,
        status,
        spec_hash: labels.get(LABEL_SPEC).cloned().unwrap_or_default(),
        hive: labels.get(LABEL_BINARY).map(PathBuf::from),
    })
}

/// The agent's number from a container's labels.
pub(super) fn agent(labels: &HashMap<String, String>) -> Option<AgentId> {
    labels.get(LABEL_AGENT)?.parse().ok().map(AgentId)
}

/// From `Exited (137) 3 minutes ago`; -1 when it is not said.
fn exit_code(status: &str) -> i64 {
    let between = status
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    between
        .and_then(|(code, _)| code.parse().ok())
        .unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn the_exit_code_is_read_from_the_status() {
        assert_eq!(exit_code("Exited (137) 3 minutes ago"), 137);
        assert_eq!(exit_code("Removal In Progress"), -1);
    }
}
