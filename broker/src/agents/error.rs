//! Why a request about an agent was refused or failed.

use hive_proto::ids::AgentId;

use crate::model::admission::Why;
use crate::runtime::RuntimeError;
use crate::store::StoreError;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AgentsError {
    #[error("there is no agent {0}")]
    Unknown(String),
    #[error("there is an agent {0} already")]
    AlreadyExists(String),
    #[error("what an earlier agent {0} had is still being purged")]
    BeingPurged(String),
    /// The removal itself stands.
    #[error("{name} is removed, but not all that it had can be deleted: {why}")]
    PurgeStuck { name: String, why: String },
    #[error("there is no agent {0} to be the parent")]
    UnknownParent(String),
    #[error("{parent} is {name} or below it, it cannot be its parent")]
    Cycle { name: String, parent: String },
    /// In a list of those that an agent may write to.
    #[error("{0:?} cannot be listed: an agent's name, operator, <parent> or manager can")]
    BadRecipient(String),
    #[error("{0:?} is not an engine: scripted or claude")]
    UnknownEngine(String),
    /// The process runtime is not trusted with an engine that a model drives.
    #[error("the process runtime isolates nothing: it runs the scripted engine only, not {0}")]
    Untrusted(String),
    #[error("{what} is longer than {most} bytes")]
    TooLong { what: &'static str, most: usize },
    #[error("the script is faulty: {0}")]
    BadScript(String),
    #[error("{name} cannot do that: {why}")]
    Denied { name: String, why: Why },
    /// Nothing was ever made of it, so there is no log.
    #[error("{0} has never run: it has no log")]
    NeverRan(String),
    #[error("agent {0} does not exist any more")]
    Gone(AgentId),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
