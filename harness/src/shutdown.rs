//! The only place that spawns tasks, and the one story of how they end.
//!
//! SIGTERM or SIGINT cancels `stopping`: the running turn is interrupted, settled with the broker and
//! its processes ended. After the grace `force` is cancelled and what is left is dropped; a second
//! signal forces at once.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, info, warn};

/// How long tasks have to end by themselves. Shorter than the 10 s between TERM and KILL that a
/// container gets.
pub const GRACE: Duration = Duration::from_secs(9);

/// Spawns and tracks every task of the process.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stopping: CancellationToken,
    force: CancellationToken,
    fatal: Arc<Mutex<Option<String>>>,
}

/// How the process came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every task ended by itself.
    Drained,
    /// The grace ran out or a second signal came.
    Forced,
    /// Why the harness must not go on, in one sentence.
    Fatal(String),
}

// === impl Tasks ===

impl Tasks {
    /// Runs `future` until it ends or shutdown is forced.
    pub fn spawn<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let force = self.force.clone();
        let task = async move {
            tokio::select! {
                () = future => {}
                () = force.cancelled() => {}
            }
        };
        self.tracker
            .spawn(task.instrument(tracing::debug_span!("task", name)));
    }

    /// Cancelled when the process begins to stop.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stopping.clone()
    }

    /// Begins the shutdown.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Begins the shutdown because going on would break a promise; the first reason is kept.
    pub fn fail(&self, why: String) {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        fatal.get_or_insert(why);
        self.stopping.cancel();
    }

    /// Waits for a signal or [`Tasks::stop`], then drains.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub async fn run_to_end(&self) -> std::io::Result<End> {
        let mut term = signal(SignalKind::terminate())?;
        let mut int = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = term.recv() => info!("stopping: SIGTERM"),
            _ = int.recv() => info!("stopping: SIGINT"),
            () = self.stopping.cancelled() => {}
        }
        let second = async {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
        };
        Ok(self.drain(second).await)
    }

    /// Stops and waits for every task, at most [`GRACE`] or until `hurry` ends.
    pub async fn drain(&self, hurry: impl Future<Output = ()>) -> End {
        self.stopping.cancel();
        self.tracker.close();
        let drained = tokio::select! {
            () = self.tracker.wait() => true,
            () = tokio::time::sleep(GRACE) => false,
            () = hurry => false,
        };
        if !drained {
            warn!(left = self.tracker.len(), "stopping: forced");
            self.force.cancel();
            self.tracker.wait().await;
        }
        let fatal = self
            .fatal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match fatal {
            Some(why) => End::Fatal(why),
            None if drained => End::Drained,
            None => End::Forced,
        }
    }
}
