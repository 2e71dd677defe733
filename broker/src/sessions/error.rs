//! Why a session was refused.

use hive_proto::ids::Epoch;

use crate::store::StoreError;

/// Why a call about a session was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    #[error("another harness serves this agent")]
    Taken,
    #[error("protocol level {given} is not served; this hived speaks {spoken}")]
    LevelNotServed { given: u32, spoken: u32 },
    #[error("epoch {given} is no longer the session's")]
    Stale { given: Epoch },
    #[error("the instance is not an id of 1 to 100 characters")]
    BadInstance,
    #[error("the agent does not exist any more")]
    AgentGone,
    #[error("hived is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}
