//! What is known in memory of every agent: what the runtime holds of it, why, and since when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::memory::{Look, Memory, Taken};
use crate::model::agent::Held;
use crate::model::shown::Operation;

/// Every agent that has a driver.
#[derive(Debug, Default)]
pub(super) struct Fleet(Mutex<HashMap<AgentId, Arc<Handle>>>);

/// One agent, shared by its driver, the reconciler and the views.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) id: AgentId,
    pub(super) name: AgentName,
    /// Something changed: the driver looks again.
    pub(super) nudge: Notify,
    /// A stop under way is not to wait for its grace.
    pub(super) hurry: Notify,
    /// What it had cannot be deleted at the moment: whoever waits for its removal is told.
    pub(super) stuck: Notify,
    /// Cancelled when nothing of a removed agent is left.
    pub(super) finished: CancellationToken,
    memory: Mutex<Memory>,
}

// === impl Fleet ===

impl Fleet {
    fn map(&self) -> MutexGuard<'_, HashMap<AgentId, Arc<Handle>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: AgentId) -> Option<Arc<Handle>> {
        self.map().get(&id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Handle>> {
        self.map().values().cloned().collect()
    }

    /// Adds an agent of which `held` is known; none when it is there already.
    pub(super) fn add(&self, id: AgentId, name: &AgentName, held: Held) -> Option<Arc<Handle>> {
        let mut map = self.map();
        if map.contains_key(&id) {
            return None;
        }
        let handle = Arc::new(Handle::new(id, name.clone(), held));
        map.insert(id, Arc::clone(&handle));
        Some(handle)
    }

    pub(super) fn remove(&self, id: AgentId) {
        self.map().remove(&id);
    }

    /// Whether another agent, removed but not yet gone, still has the name.
    pub(super) fn is_name_busy(&self, handle: &Handle) -> bool {
        self.map()
            .values()
            .any(|other| other.id != handle.id && other.name == handle.name)
    }
}

// === impl Handle ===

impl Handle {
    fn new(id: AgentId, name: AgentName, held: Held) -> Self {
        Self {
            id,
            name,
            nudge: Notify::new(),
            hurry: Notify::new(),
            stuck: Notify::new(),
            finished: CancellationToken::new(),
            memory: Mutex::new(Memory::new(held)),
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a look at the runtime. One that began before the driver's last act, or that falls
    /// into an operation, says nothing but whether the runtime answers.
    pub(super) fn observe(&self, look: &Look<'_>, taken: Taken) {
        let mut memory = self.memory();
        memory.silent = match look {
            Look::Unknown(why) => Some((*why).to_owned()),
            Look::Absent | Look::There(_) => None,
        };
        if memory.operation != Operation::None || taken.began < memory.acted_at {
            return;
        }
        if memory.take_in(look, taken) {
            self.nudge.notify_one();
        }
    }

    /// The runtime's stream of events broke: what ends before it answers again may have ended with it.
    pub(super) fn runtime_left(&self, now: Duration) {
        self.memory().runtime_left = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::ids::{AgentId, UnixMs};

    use super::{Handle, Look, Taken};
    use crate::agents::memory::describe;
    use crate::model::agent::{Cause, Held};
    use crate::model::outcome::Loss;
    use crate::model::shown::Operation;
    use crate::runtime::{Exit, Instance, Status};

    fn handle() -> Handle {
        Handle::new(AgentId(1), "a".parse().unwrap(), Held::Unknown)
    }

    fn at(secs: u64) -> Taken {
        Taken {
            began: Duration::from_secs(secs),
            now: Duration::from_secs(secs),
            wall: UnixMs(i64::try_from(secs).unwrap() * 1000),
        }
    }

    fn instance(status: Status) -> Instance {
        Instance {
            id: "x".into(),
            name: "a".parse().unwrap(),
            agent_id: AgentId(1),
            status,
            spec_hash: "h".into(),
            hive: None,
        }
    }

    fn exited(code: i64, out_of_memory: bool) -> Instance {
        instance(Status::Exited(Exit {
            code,
            out_of_memory,
        }))
    }

    #[test]
    fn an_end_that_was_watched_is_a_death_with_its_reason() {
        let handle = handle();
        handle.observe(&Look::There(&instance(Status::Running)), at(1));
        handle.observe(&Look::There(&exited(137, true)), at(2));
        let memory = handle.memory();
        assert_eq!(memory.cause, Cause::Died { at: UnixMs(2000) });
        assert_eq!(memory.to_release, Some(Loss::WithHarness));
        assert_eq!(memory.detail, "out of memory");
    }

    #[test]
    fn an_end_before_this_broker_is_nobodys_fault() {
        let handle = handle();
        handle.observe(&Look::There(&exited(255, false)), at(1));
        let memory = handle.memory();
        assert_eq!(memory.cause, Cause::Fresh);
        assert_eq!(memory.to_release, Some(Loss::Stopped));
    }

    #[test]
    fn unknown_is_not_gone() {
        let handle = handle();
        handle.observe(&Look::There(&instance(Status::Running)), at(1));
        handle.observe(&Look::Unknown("no answer"), at(2));
        {
            let memory = handle.memory();
            assert_eq!((memory.held, memory.cause), (Held::Unknown, Cause::Fresh));
            assert_eq!(memory.detail, "no answer");
            assert_eq!(memory.runtime_id, "x");
        }
        handle.observe(&Look::There(&instance(Status::Running)), at(3));
        let memory = handle.memory();
        assert_eq!((memory.held, memory.to_release), (Held::Running, None));
    }

    #[test]
    fn a_silence_makes_no_death_into_a_stop() {
        for adopted in [false, true] {
            let handle = handle();
            if !adopted {
                handle.observe(&Look::There(&instance(Status::Created)), at(1));
            }
            handle.observe(&Look::There(&instance(Status::Running)), at(2));
            handle.observe(&Look::Unknown("no answer within 1.2s"), at(3));
            handle.observe(&Look::Unknown("no answer within 1.2s"), at(4));
            handle.observe(&Look::There(&exited(1, false)), at(5));
            let memory = handle.memory();
            assert_eq!(memory.cause, Cause::Died { at: UnixMs(5000) });
            assert_eq!(memory.to_release, Some(Loss::WithHarness));
            assert_eq!(memory.detail, "it ended with code 1");
        }
    }

    #[test]
    fn what_ends_with_its_runtime_is_nobodys_fault() {
        let handle = handle();
        handle.observe(&Look::There(&instance(Status::Running)), at(1));
        handle.runtime_left(Duration::from_secs(2));
        // Asked before it left, answered afterwards.
        handle.observe(&Look::There(&instance(Status::Running)), at(2));
        handle.observe(&Look::Unknown("connection refused"), at(2));
        handle.observe(&Look::There(&exited(137, false)), at(3));
        {
            let memory = handle.memory();
            assert_eq!(memory.cause, Cause::Fresh);
            assert_eq!(memory.to_release, Some(Loss::Stopped));
        }
        // The next end is its own again.
        handle.memory().to_release = None;
        handle.observe(&Look::There(&instance(Status::Running)), at(4));
        handle.observe(&Look::There(&exited(1, false)), at(5));
        let memory = handle.memory();
        assert_eq!(memory.cause, Cause::Died { at: UnixMs(5000) });
    }

    #[test]
    fn a_silent_runtime_is_told_also_in_the_middle_of_an_operation() {
        let handle = handle();
        handle.observe(&Look::There(&instance(Status::Running)), at(1));
        handle.memory().operation = Operation::Stopping;
        handle.observe(&Look::Unknown("no answer"), at(2));
        assert_eq!(handle.memory().held_now(), (Held::Unknown, "no answer"));
        assert_eq!(handle.memory().held, Held::Running);
        handle.observe(&Look::There(&instance(Status::Running)), at(3));
        assert_eq!(handle.memory().held_now(), (Held::Running, ""));
    }

    #[test]
    fn a_killed_child_does_not_make_a_later_end_one_of_memory() {
        assert_eq!(
            describe(&Exit {
                code: 1,
                out_of_memory: true
            }),
            "it ended with code 1"
        );
    }

    #[test]
    fn a_look_that_began_before_the_last_act_says_nothing() {
        let handle = handle();
        handle.observe(&Look::There(&instance(Status::Running)), at(1));
        handle.memory().acted_at = Duration::from_secs(5);
        handle.observe(&Look::Absent, at(4));
        assert_eq!(handle.memory().held, Held::Running);
        handle.observe(&Look::Absent, at(6));
        assert_eq!(handle.memory().held, Held::Absent);
    }
}
