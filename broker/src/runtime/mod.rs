//! The seam to what holds an agent's process: `docker` or `process`.
//!
//! "Cannot be asked" is an error of its own ([`RuntimeError::Unavailable`]) and never means "gone".

mod connect;
mod digest;
mod docker;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use futures::stream::BoxStream;
use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;

pub(crate) use digest::digest;

pub use connect::{ConnectError, connect};
pub use docker::Docker;
pub use process::{Process, Trust};

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

/// Why a runtime did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// It cannot be asked; what runs is unknown.
    #[error("the {runtime} runtime does not answer: {why}")]
    Unavailable { runtime: &'static str, why: String },
    #[error("no image {0}")]
    NoImage(String),
    /// The request breaks a rule of isolation; nothing was made.
    #[error("refused: {0}")]
    Refused(String),
    /// Something that is not this agent's bears the name; it is left alone.
    #[error("{0} is there already and is not this agent's")]
    NameTaken(String),
    #[error("{0} does not exist")]
    NotFound(String),
    #[error("{0}")]
    Failed(String),
}

/// What holds agents. Every method is safe to repeat.
#[async_trait::async_trait]
pub trait Runtime: Send + Sync + std::fmt::Debug {
    /// `docker` or `process`.
    fn name(&self) -> &'static str;

    /// Whether agents are kept from the host and from each other.
    fn isolated(&self) -> bool;

    /// Hash of everything in `spec` that a running instance cannot pick up by itself.
    fn spec_hash(&self, spec: &Spec) -> String;

    /// Makes the instance without starting it and returns its id; an existing one with the same
    /// agent id and spec hash is returned as it is, any other of the same name is refused.
    async fn create(&self, spec: &Spec) -> Result<String, RuntimeError>;

    /// Starts a created or exited instance; running already is success.
    async fn start(&self, id: &str) -> Result<(), RuntimeError>;

    /// TERM, `grace`, KILL, of everything in it; not running already is success.
    async fn stop(&self, id: &str, grace: Duration) -> Result<(), RuntimeError>;

    /// Removes it and all that the runtime keeps of it; gone already is success.
    async fn remove(&self, id: &str) -> Result<(), RuntimeError>;

    /// Every instance of this hive, running or not.
    async fn list(&self) -> Result<Vec<Instance>, RuntimeError>;

    /// The instance's output, oldest line first.
    async fn logs(
        &self,
        id: &str,
        options: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RuntimeError>>, RuntimeError>;

    /// Changes as they happen; ends when the runtime goes away. A missed one is found by polling.
    async fn events(&self) -> Result<BoxStream<'static, Changed>, RuntimeError>;
}
