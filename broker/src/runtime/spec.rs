//! What an agent's container or process is made from.

use std::path::PathBuf;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;

/// Everything needed to create one agent's container or process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub agent_id: AgentId,
    pub name: AgentName,
    /// What runs its turns; `process` refuses real ones unless it is trusted.
    pub engine: String,
    /// Uid and gid of everything in it; the mounted directories belong to it. Ignored by `process`.
    pub uid: u32,
    /// Image reference; ignored by `process`.
    pub image: String,
    /// The static `hive` binary on the host.
    pub hive: PathBuf,
    /// Mounted, or passed on by path where nothing is mounted.
    pub mounts: Mounts,
    /// Sorted by name; never a secret.
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    /// The configuration commit; empty for none.
    pub config_sha: String,
    /// The hive that owns it: the data directory's id.
    pub hive_id: String,
}

/// An agent's directories on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounts {
    /// → `/run/hive`, read-only: the agent's sockets.
    pub sockets: PathBuf,
    /// → `/run/hive-agent`, writable.
    pub terminal: PathBuf,
    /// → `/state` and `/agents/<name>/state`.
    pub state: PathBuf,
    /// → `/home/agent`.
    pub home: PathBuf,
    /// → `/harness`.
    pub harness: PathBuf,
    /// → `/opt/hive/engines`, read-only; none when no engine is installed.
    pub engines: Option<PathBuf>,
}

/// Resource limits of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub memory_bytes: i64,
    /// In thousandths of a CPU.
    pub cpu_milli: i64,
    pub pids: i64,
    pub nofile: i64,
    pub log_bytes: i64,
    pub log_files: i64,
}
