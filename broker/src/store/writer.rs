//! The writer thread: group commit.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::{mpsc, watch};
use tracing::error;

use super::error::StoreError;
use super::room::Room;
use super::standing::Parked;
use super::tx::{AfterCommit, Recipient, Tx};
use crate::clock::Clock;
use crate::model::retry::Retry;
use crate::shutdown::Tasks;
use crate::wakers::Wakers;

/// Turns that one commit takes at the most: beyond it a group only adds latency, and the answers that wait for it
/// take memory.
const GROUP: usize = 1024;

/// One queued write: runs in its savepoint, then learns how the commit went.
pub(super) trait Job: Send {
    /// Runs the closure and keeps its result; says whether its savepoint is to be kept.
    fn run(&mut self, tx: &mut Tx<'_>) -> Keep;
    /// Whether somebody still waits for what a parked job brings.
    fn is_wanted(&self) -> bool {
        true
    }
    /// Why the closure failed; none when it did not.
    fn fault(&self) -> Option<StoreError>;
    /// Sends the kept result, or the commit's error in its place.
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Release,
    RollBack,
    /// It has written nothing and waits for this recipient to be woken.
    Park(Recipient),
}

/// A panic in one closure must not take the writer, and with it the hive, down.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::Sqlite("a write closure panicked".into())))
}

/// The thread's state.
pub(super) struct Writer {
    pub(super) conn: Connection,
    pub(super) jobs: mpsc::UnboundedReceiver<Box<dyn Job>>,
    pub(super) clock: Clock,
    pub(super) retry: Retry,
    pub(super) wakers: Arc<Wakers>,
    pub(super) tasks: Tasks,
    /// Last failure of a commit, for `hive status`; empty when the last commit worked.
    pub(super) health: watch::Sender<String>,
    pub(super) parked: Parked,
    pub(super) room: Room,
}

/// The jobs of one commit.
#[derive(Default)]
struct Group {
    /// In the order in which they run. A wake adds what waits for it; what is too much is the next group.
    next: VecDeque<Box<dyn Job>>,
    /// Have run, and wait for the commit.
    ran: Vec<Box<dyn Job>>,
}

// === impl Writer ===

impl Writer {
    /// Runs until every sender is gone, or the first failed fsync.
    pub(super) fn run(mut self) {
        let mut group = Group::default();
        while self.fill(&mut group) {
            match self.commit(&mut group) {
                Ok(after) => {
                    self.report("");
                    group.succeed();
                    self.wakers.wake(&after.wakes, after.evented);
                }
                Err(fault) => {
                    self.report(&fault.to_string());
                    group.fail(&fault);
                    if let StoreError::Fsync(why) = fault {
                        error!(error = %why, "a write did not reach the disk: stopping");
                        self.tasks
                            .fail(format!("a write did not reach the disk: {why}"));
                        return;
                    }
                    group.next.extend(self.parked.rolled_back());
                }
            }
        }
    }

    /// What was left over goes first; without it, what comes. Says whether there is anything.
    fn fill(&mut self, group: &mut Group) -> bool {
        if group.next.is_empty() {
            let mut came = Vec::new();
            self.jobs.blocking_recv_many(&mut came, GROUP);
            group.next = came.into();
        }
        !group.next.is_empty()
    }

    fn commit(&mut self, group: &mut Group) -> Result<AfterCommit, StoreError> {
        let result = self.try_commit(group);
        if result.is_ok() {
            self.parked.committed();
        } else {
            self.room.forget();
            if !self.conn.is_autocommit() {
                // Already failing: the first error is the one to report.
                let _ = self.conn.execute_batch("ROLLBACK");
            }
        }
        result
    }

    fn try_commit(&mut self, group: &mut Group) -> Result<AfterCommit, StoreError> {
        self.statement("BEGIN IMMEDIATE")?;
        let mut all = AfterCommit::default();
        for _ in 0..GROUP {
            if group.next.is_empty() {
                break;
            }
            self.statement("SAVEPOINT job")?;
            self.turn(group, &mut all)?;
            self.statement("RELEASE job")?;
        }
        self.statement("COMMIT")?;
        Ok(all)
    }

    /// The next job, in its savepoint.
    fn turn(&mut self, group: &mut Group, all: &mut AfterCommit) -> Result<(), StoreError> {
        let Some(mut job) = group.next.pop_front() else {
            return Ok(());
        };
        let mut tx = Tx::new(&self.conn, self.clock.now(), self.retry, &self.room);
        match job.run(&mut tx) {
            Keep::Release => {
                let after = tx.finish();
                for wake in &after.wakes {
                    group.next.extend(self.parked.take(*wake));
                }
                all.add(after);
                group.ran.push(job);
            }
            Keep::Park(recipient) => self.parked.add(recipient, job),
            Keep::RollBack => {
                let fault = job.fault();
                group.ran.push(job);
                if let Some(fault) = fault.filter(|fault| self.ends_group(fault)) {
                    return Err(fault);
                }
                self.room.forget();
                self.statement("ROLLBACK TO job")?;
            }
        }
        Ok(())
    }

    fn statement(&self, sql: &str) -> Result<(), StoreError> {
        self.conn.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// A failed flush is nothing to go on after. On a full disk SQLite may end the whole transaction by
    /// itself, savepoints and all (sqlite.org/lang_transaction.html): its own reason is the one to tell.
    fn ends_group(&self, fault: &StoreError) -> bool {
        matches!(fault, StoreError::Fsync(_)) || self.conn.is_autocommit()
    }

    fn report(&self, health: &str) {
        self.health.send_if_modified(|old| {
            let changed = old != health;
            if changed {
                health.clone_into(old);
            }
            changed
        });
    }
}

// === impl Group ===

impl Group {
    /// Those that had a turn are on disk.
    fn succeed(&mut self) {
        for job in self.ran.drain(..) {
            job.settle(Ok(()));
        }
    }

    /// Nothing is on disk, and those that had no turn had none because of the same fault.
    fn fail(&mut self, fault: &StoreError) {
        for job in self.ran.drain(..).chain(self.next.drain(..)) {
            job.settle(Err(fault.clone()));
        }
    }
}
