//! What is known in memory of every agent: what the runtime holds of it, why, and since when.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hive_proto::ids::{AgentId, UnixMs};
use hive_proto::name::AgentName;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::model::agent::{Cause, Held};
use crate::model::outcome::Loss;
use crate::model::shown::{Operation, Shown};
use crate::runtime::{Exit, Instance, Status};

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

/// What was seen of an agent last.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) held: Held,
    /// The runtime's id; empty when it holds nothing, kept while it cannot be asked.
    pub(super) runtime_id: String,
    pub(super) spec_hash: String,
    /// The copy of `hive` that its instance runs.
    pub(super) hive: Option<PathBuf>,
    pub(super) cause: Cause,
    /// What a session held when its process went away is to be settled so.
    pub(super) to_release: Option<Loss>,
    pub(super) operation: Operation,
    /// Whether the next stop is to skip its grace.
    pub(super) haste: super::Haste,
    /// How it ended, or why the runtime cannot be asked.
    pub(super) detail: String,
    /// When its instance began to run, by the monotonic clock; zero when it ran before this broker.
    pub(super) running_since: Duration,
    /// When the driver changed something last, by the monotonic clock: older looks do not count.
    pub(super) acted_at: Duration,
    pub(super) shown: Option<(Shown, UnixMs)>,
}

/// What a look at the runtime says of one agent.
#[derive(Clone, Debug)]
pub(super) enum Look<'a> {
    /// The runtime cannot be asked, and why.
    Unknown(&'a str),
    Absent,
    There(&'a Instance),
}

/// When a look was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// When it began, by the monotonic clock.
    pub(super) began: Duration,
    pub(super) now: Duration,
    pub(super) wall: UnixMs,
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

    /// Adds an agent; none when it is there already.
    pub(super) fn add(&self, id: AgentId, name: &AgentName) -> Option<Arc<Handle>> {
        let mut map = self.map();
        if map.contains_key(&id) {
            return None;
        }
        let handle = Arc::new(Handle::new(id, name.clone()));
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
    fn new(id: AgentId, name: AgentName) -> Self {
        Self {
            id,
            name,
            nudge: Notify::new(),
            hurry: Notify::new(),
            stuck: Notify::new(),
            finished: CancellationToken::new(),
            memory: Mutex::new(Memory {
                held: Held::Unknown,
                runtime_id: String::new(),
                spec_hash: String::new(),
                hive: None,
                cause: Cause::Fresh,
                to_release: None,
                operation: Operation::None,
                haste: super::Haste::Grace,
                detail: "not looked at yet".into(),
                running_since: Duration::ZERO,
                acted_at: Duration::ZERO,
                shown: None,
            }),
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a look at the runtime. One that began before the driver's last act, or that falls
    /// into an operation, says nothing.
    pub(super) fn observe(&self, look: &Look<'_>, taken: Taken) {
        let mut memory = self.memory();
        if memory.operation != Operation::None || taken.began < memory.acted_at {
            return;
        }
        if memory.take_in(look, taken) {
            self.nudge.notify_one();
        }
    }
}

// === impl Memory ===

impl Memory {
    /// Says whether anything changed.
    fn take_in(&mut self, look: &Look<'_>, taken: Taken) -> bool {
        let before = self.held;
        match look {
            Look::Unknown(why) => {
                self.held = Held::Unknown;
                (*why).clone_into(&mut self.detail);
                return before != Held::Unknown;
            }
            Look::Absent => self.set_absent(),
            Look::There(instance) => self.set_instance(instance),
        }
        if before == Held::Unknown && self.held != Held::Unknown {
            self.first_sight(taken);
        } else if is_up(before) && is_down(self.held) {
            self.note_death(look, taken);
        } else if is_down(before) && is_up(self.held) {
            self.running_since = taken.now;
        }
        before != self.held
    }

    fn set_absent(&mut self) {
        self.held = Held::Absent;
        self.runtime_id.clear();
        self.spec_hash.clear();
        self.hive = None;
    }

    fn set_instance(&mut self, instance: &Instance) {
        self.held = held(&instance.status);
        instance.id.clone_into(&mut self.runtime_id);
        instance.spec_hash.clone_into(&mut self.spec_hash);
        self.hive.clone_from(&instance.hive);
    }

    /// After a start of the broker, or after a time in which the runtime could not be asked.
    fn first_sight(&mut self, taken: Taken) {
        self.detail.clear();
        if !is_down(self.held) {
            return;
        }
        if self.running_since == Duration::ZERO {
            // It ended while no broker watched, as after a reboot: nobody knows that a message did it.
            self.to_release = Some(Loss::Stopped);
        } else if self.cause == Cause::Fresh {
            // It ran before, and ended together with its runtime: not its own fault either.
            self.to_release = Some(Loss::Stopped);
            self.running_since = taken.now;
        }
    }

    fn note_death(&mut self, look: &Look<'_>, taken: Taken) {
        self.detail = match look {
            Look::There(Instance {
                status: Status::Exited(exit),
                ..
            }) => describe(exit),
            Look::There(_) | Look::Absent | Look::Unknown(_) => "it is gone".into(),
        };
        if self.cause != Cause::RestartAsked {
            self.cause = Cause::Died { at: taken.wall };
        }
        self.to_release = Some(Loss::WithHarness);
    }
}

/// How an instance ended, in a few words.
pub(super) fn describe(exit: &Exit) -> String {
    if exit.out_of_memory {
        "out of memory".into()
    } else {
        format!("it ended with code {}", exit.code)
    }
}

fn held(status: &Status) -> Held {
    match status {
        Status::Created => Held::Made,
        Status::Running => Held::Running,
        Status::Frozen => Held::Frozen,
        Status::Exited(_) => Held::Exited,
    }
}

fn is_up(held: Held) -> bool {
    matches!(held, Held::Running | Held::Frozen)
}

fn is_down(held: Held) -> bool {
    matches!(held, Held::Absent | Held::Made | Held::Exited)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::ids::{AgentId, UnixMs};

    use super::{Handle, Look, Taken};
    use crate::model::agent::{Cause, Held};
    use crate::model::outcome::Loss;
    use crate::runtime::{Exit, Instance, Status};

    fn handle() -> Handle {
        Handle::new(AgentId(1), "a".parse().unwrap())
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
