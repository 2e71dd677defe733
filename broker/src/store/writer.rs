//! The writer thread: group commit.

use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::{mpsc, watch};
use tracing::error;

use super::error::StoreError;
use super::tx::{AfterCommit, Tx};
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
    /// Why the closure failed; none when it did not.
    fn fault(&self) -> Option<StoreError>;
    /// Sends the kept result, or the commit's error in its place.
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Release,
    RollBack,
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
}

// === impl Writer ===

impl Writer {
    /// Runs until every sender is gone, or the first failed fsync.
    pub(super) fn run(mut self) {
        let mut group = Vec::new();
        while self.jobs.blocking_recv_many(&mut group, GROUP) > 0 {
            let committed = self.commit(&mut group);
            let after = match committed {
                Ok(after) => {
                    self.report("");
                    self.settle(&mut group, &Ok(()));
                    after
                }
                Err(fault) => {
                    self.report(&fault.to_string());
                    self.settle(&mut group, &Err(fault.clone()));
                    if let StoreError::Fsync(why) = fault {
                        error!(error = %why, "a write did not reach the disk: stopping");
                        self.tasks
                            .fail(format!("a write did not reach the disk: {why}"));
                        return;
                    }
                    continue;
                }
            };
            self.wakers.wake(&after.wakes, after.evented);
        }
    }

    fn commit(&self, group: &mut [Box<dyn Job>]) -> Result<AfterCommit, StoreError> {
        let result = self.try_commit(group);
        if result.is_err() && !self.conn.is_autocommit() {
            // Already failing: the first error is the one to report.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        result
    }

    fn try_commit(&self, group: &mut [Box<dyn Job>]) -> Result<AfterCommit, StoreError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let mut all = AfterCommit::default();
        for job in group.iter_mut() {
            self.conn.prepare_cached("SAVEPOINT job")?.execute([])?;
            let mut tx = Tx::new(&self.conn, self.clock.now(), self.retry);
            match job.run(&mut tx) {
                Keep::Release => {
                    let after = tx.finish();
                    all.wakes.extend(after.wakes);
                    all.evented |= after.evented;
                }
                Keep::RollBack => {
                    if let Some(fault) = job.fault().filter(|fault| self.ends_group(fault)) {
                        return Err(fault);
                    }
                    self.conn.prepare_cached("ROLLBACK TO job")?.execute([])?;
                }
            }
            self.conn.prepare_cached("RELEASE job")?.execute([])?;
        }
        self.conn.execute_batch("COMMIT")?;
        Ok(all)
    }

    /// A failed flush is nothing to go on after. On a full disk SQLite may end the whole transaction by
    /// itself, savepoints and all (sqlite.org/lang_transaction.html): its own reason is the one to tell.
    fn ends_group(&self, fault: &StoreError) -> bool {
        matches!(fault, StoreError::Fsync(_)) || self.conn.is_autocommit()
    }

    fn settle(&self, group: &mut Vec<Box<dyn Job>>, committed: &Result<(), StoreError>) {
        for job in group.drain(..) {
            job.settle(committed.clone());
        }
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
