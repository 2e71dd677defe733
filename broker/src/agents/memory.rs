//! What was seen of one agent in the runtime, and what a new look says beside it.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::ids::UnixMs;

use super::story::Story;
use crate::model::agent::{Cause, Held};
use crate::model::outcome::Loss;
use crate::model::shown::Operation;
use crate::runtime::{Exit, Instance, Status};

/// What was seen of an agent last.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) held: Held,
    /// What it held before it became unknown; unknown when nothing that is still true was ever seen.
    certain: Held,
    /// When the runtime itself went away, by the monotonic clock; none once a later look has seen it up.
    pub(super) runtime_left: Option<Duration>,
    /// Why the last look got no answer, also one that fell into an operation.
    pub(super) silent: Option<String>,
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
    pub(super) story: Story,
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

// === impl Memory ===

impl Memory {
    /// Of an agent of which `held` is known.
    pub(super) fn new(held: Held) -> Self {
        Self {
            held,
            certain: Held::Unknown,
            runtime_left: None,
            silent: None,
            runtime_id: String::new(),
            spec_hash: String::new(),
            hive: None,
            cause: Cause::Fresh,
            to_release: None,
            operation: Operation::None,
            haste: super::Haste::Grace,
            detail: if held == Held::Unknown {
                "not looked at yet".into()
            } else {
                String::new()
            },
            running_since: Duration::ZERO,
            acted_at: Duration::ZERO,
            story: Story::default(),
        }
    }

    /// Says whether anything changed.
    pub(super) fn take_in(&mut self, look: &Look<'_>, taken: Taken) -> bool {
        let last = self.held;
        match look {
            Look::Unknown(why) => {
                self.lose_sight(why);
                return last != Held::Unknown;
            }
            Look::Absent => self.set_absent(),
            Look::There(instance) => self.set_instance(instance),
        }
        let before = match last {
            Held::Unknown => {
                self.detail.clear();
                self.certain
            }
            known => known,
        };
        if matches!(before, Held::Unknown | Held::Unseen) {
            self.first_sight(taken);
        } else if is_up(before) && is_down(self.held) {
            self.note_end(look, taken);
        } else if is_down(before) && is_up(self.held) {
            self.running_since = taken.now;
        }
        // An answer to a question from before says nothing of what the runtime took with it.
        let seen_since = self.runtime_left.is_some_and(|left| taken.began > left);
        if seen_since && is_up(self.held) {
            self.runtime_left = None;
        }
        last != self.held
    }

    /// The runtime cannot be asked, and why. What was seen last is kept for the next answer to be
    /// compared with: a silence makes no death into a stop.
    pub(super) fn lose_sight(&mut self, why: &str) {
        if !matches!(self.held, Held::Unknown | Held::Unseen) {
            self.certain = self.held;
        }
        self.held = Held::Unknown;
        why.clone_into(&mut self.detail);
    }

    /// Whatever is seen next is not to be compared with what was seen before.
    pub(super) fn forget_sight(&mut self) {
        self.certain = Held::Unknown;
    }

    /// What the runtime holds, as far as it answers now.
    pub(super) fn held_now(&self) -> (Held, &str) {
        match &self.silent {
            Some(why) => (Held::Unknown, why),
            None => (self.held, &self.detail),
        }
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

    /// After a start of the broker: what ended while none watched, as at a reboot, was nobody's fault.
    fn first_sight(&mut self, taken: Taken) {
        if is_down(self.held) {
            self.stopped(taken);
        }
    }

    /// It ended since it was seen last: together with its runtime, or by itself.
    fn note_end(&mut self, look: &Look<'_>, taken: Taken) {
        if self.runtime_left.is_some() {
            return self.stopped(taken);
        }
        self.detail = match look {
            Look::There(Instance {
                status: Status::Exited(exit),
                ..
            }) => describe(exit),
            Look::There(_) | Look::Absent | Look::Unknown(_) => "it is gone".into(),
        };
        self.cause = Cause::Died { at: taken.wall };
        self.to_release = Some(Loss::WithHarness);
    }

    fn stopped(&mut self, taken: Taken) {
        self.to_release = Some(Loss::Stopped);
        if self.running_since != Duration::ZERO {
            self.running_since = taken.now;
        }
    }
}

/// What a process ended with that the kernel killed: 128 + SIGKILL.
const KILLED: i64 = 137;

/// How an instance ended, in a few words. A container of which the kernel killed one process for
/// want of memory may go on and end for another reason later: only a kill counts.
pub(super) fn describe(exit: &Exit) -> String {
    if exit.out_of_memory && exit.code == KILLED {
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
