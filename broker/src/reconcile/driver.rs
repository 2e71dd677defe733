//! Runs the reconcilers, each one at a time, and remembers how the last run went.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hive_proto::ids::UnixMs;
use tokio::sync::Notify;
use tracing::{debug, warn};

use super::{Bell, ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::shutdown::Tasks;

/// All reconcilers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Reconcilers {
    entries: Arc<[Entry]>,
    clock: Clock,
}

#[derive(Debug)]
struct Entry {
    reconciler: Arc<dyn Reconciler>,
    nudge: Notify,
    bell: Option<Bell>,
    /// Held over a run: a second one waits for its turn.
    running: tokio::sync::Mutex<()>,
    last: Mutex<Option<Last>>,
}

/// How the last run went.
#[derive(Clone, Debug)]
pub struct Last {
    pub at: UnixMs,
    pub took: Duration,
    pub result: Result<Report, ReconcileError>,
}

/// One reconciler as `hive status` shows it.
#[derive(Clone, Debug)]
pub struct Status {
    pub name: &'static str,
    /// None before the first run.
    pub last: Option<Last>,
}

// === impl Reconcilers ===

impl Reconcilers {
    #[must_use]
    pub fn new(reconcilers: Vec<Arc<dyn Reconciler>>, clock: Clock) -> Self {
        let entries = reconcilers
            .into_iter()
            .map(|reconciler| Entry {
                bell: reconciler.bell(),
                reconciler,
                nudge: Notify::new(),
                running: tokio::sync::Mutex::default(),
                last: Mutex::default(),
            })
            .collect();
        Self { entries, clock }
    }

    /// Runs each at once and then by its period, until the daemon stops.
    pub fn start(&self, tasks: &Tasks) {
        for at in 0..self.entries.len() {
            let (this, stopping) = (self.clone(), tasks.stopping());
            tasks.spawn("reconciler", async move {
                while !stopping.is_cancelled() {
                    let entry = &this.entries[at];
                    this.run(entry).await;
                    tokio::select! {
                        () = tokio::time::sleep(entry.reconciler.period()) => {}
                        () = entry.nudge.notified() => {}
                        () = rung(entry.bell.as_ref()) => {}
                        () = stopping.cancelled() => {}
                    }
                }
            });
        }
    }

    /// Has the reconciler of that name run soon; several nudges are one.
    pub fn nudge(&self, name: &str) {
        for entry in self.named(name) {
            entry.nudge.notify_one();
        }
    }

    /// Runs the reconciler of that name now, after a run that is under way; none has that name: does
    /// nothing.
    pub async fn run_now(&self, name: &str) {
        for entry in self.named(name) {
            self.run(entry).await;
        }
    }

    /// How each one's last run went.
    #[must_use]
    pub fn statuses(&self) -> Vec<Status> {
        self.entries
            .iter()
            .map(|entry| Status {
                name: entry.reconciler.name(),
                last: entry.last().clone(),
            })
            .collect()
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.reconciler.name() == name)
    }

    async fn run(&self, entry: &Entry) {
        let _turn = entry.running.lock().await;
        let name = entry.reconciler.name();
        let (at, begun) = (self.clock.now(), self.clock.monotonic());
        let result = entry.reconciler.run().await;
        let took = self.clock.monotonic().saturating_sub(begun);
        let mut last = entry.last();
        let failed_before = last.as_ref().is_some_and(|last| last.result.is_err());
        match &result {
            Ok(report) => debug!(reconciler.name = name, %report, "reconciled"),
            // Logged when it begins to fail, not at every try.
            Err(error) if !failed_before => {
                warn!(reconciler.name = name, %error, "cannot reconcile");
            }
            Err(error) => debug!(reconciler.name = name, %error, "still cannot reconcile"),
        }
        *last = Some(Last { at, took, result });
    }
}

/// Until the bell rings; for ever where there is none.
async fn rung(bell: Option<&Bell>) {
    match bell {
        Some(bell) => bell.rung().await,
        None => std::future::pending().await,
    }
}

// === impl Entry ===

impl Entry {
    fn last(&self) -> std::sync::MutexGuard<'_, Option<Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
