//! What it means for an agent that the runtime did not do a step.

use hive_proto::ids::UnixMs;

use super::fleet::Handle;
use super::memory::Memory;
use crate::model::agent::{Cause, Held};
use crate::runtime::RuntimeError;
use crate::store::StoreError;

/// Why a step did not work, by what follows.
#[derive(Debug)]
pub(super) enum Failure {
    /// Tried again in a moment.
    Passing(String),
    /// Never by itself: only a person can help.
    Final(String),
    /// The runtime cannot be asked: wait until it can.
    Unknown,
    Store(StoreError),
}

// === impl Failure ===

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a runtime's error means for the agent, and what is then known of it.
pub(super) fn judge(handle: &Handle, now: UnixMs, error: RuntimeError) -> Failure {
    let mut memory = handle.memory();
    match error {
        RuntimeError::Unavailable { .. } => {
            memory.lose_sight(&error.to_string());
            Failure::Unknown
        }
        RuntimeError::NoImage(_) | RuntimeError::Refused(_) | RuntimeError::NameTaken(_) => {
            Failure::Final(error.to_string())
        }
        RuntimeError::NotFound(_) => {
            forget(&mut memory);
            Failure::Passing(error.to_string())
        }
        RuntimeError::Failed(why) => {
            memory.detail.clone_from(&why);
            memory.cause = Cause::Died { at: now };
            Failure::Passing(why)
        }
    }
}

pub(super) fn forget(memory: &mut Memory) {
    memory.held = Held::Absent;
    memory.runtime_id.clear();
    memory.spec_hash.clear();
    memory.hive = None;
}
