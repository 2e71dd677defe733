//! What a runtime says of the containers or processes that it holds.

use std::path::PathBuf;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;

/// One container or process as the runtime reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The runtime's id: container id, or `<pid>:<start time>` of a process, `new:<name>` of one that
    /// was never started.
    pub id: String,
    pub name: AgentName,
    pub agent_id: AgentId,
    pub status: Status,
    /// Hash of the spec it was made from; another hash is drift (`needs_update`).
    pub spec_hash: String,
    /// The `hive` that it runs, where that is a copy kept for it.
    pub hive: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Made, never started.
    Created,
    Running,
    /// Frozen by someone outside hive (`docker pause`).
    Frozen,
    Exited(Exit),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: i64,
    pub out_of_memory: bool,
}

/// Something happened to an instance; the reconciler looks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub agent_id: AgentId,
    /// The runtime's word: `start`, `die`, `oom`, `pause`, `unpause`, `destroy`.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Newest lines to begin with.
    pub tail: u32,
    pub follow: bool,
}
