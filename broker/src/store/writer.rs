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

/// Closures that one commit takes at the most: beyond it a group only adds latency.
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
    /// In the order in which they run. A wake adds what waits for it.
    next: VecDeque<Box<dyn Job>>,
    /// Have run, and wait for the commit.
    ran: Vec<Box<dyn Job>>,
}

// === impl Writer ===

impl Writer {
    /// Runs until every sender is gone, or the first failed fsync.
    pub(super) fn run(mut self) {
        let mut came = Vec::new();
        while self.jobs.blocking_recv_many(&mut came, GROUP) > 0 {
            let mut group = Group {
                next: std::mem::take(&mut came).into(),
                ran: Vec::new(),
            };
            match self.commit(&mut group) {
                Ok(after) => {
                    self.report("");
                    group.settle(&Ok(()));
                    self.wakers.wake(&after.wakes, after.evented);
                }
                Err(fault) => {
                    self.report(&fault.to_string());
                    group.settle(&Err(fault.clone()));
                    if let StoreError::Fsync(why) = fault {
                        error!(error = %why, "a write did not reach the disk: stopping");
                        self.tasks
                            .fail(format!("a write did not reach the disk: {why}"));
                        return;
                    }
                }
            }
        }
    }

    fn commit(&mut self, group: &mut Group) -> Result<AfterCommit, StoreError> {
        let result = self.try_commit(group);
        if result.is_err() {
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
        while let Some(mut job) = group.next.pop_front() {
            self.statement("SAVEPOINT job")?;
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
            self.statement("RELEASE job")?;
        }
        self.statement("COMMIT")?;
        Ok(all)
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
    /// Tells every job how the commit went, those too that had no turn before it failed.
    fn settle(self, committed: &Result<(), StoreError>) {
        for job in self.ran.into_iter().chain(self.next) {
            job.settle(committed.clone());
        }
    }
}
