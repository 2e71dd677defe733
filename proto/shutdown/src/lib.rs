//! The only place that spawns tasks, in both programs, and the one story of how they end.
//!
//! SIGTERM or SIGINT cancels `stopping`, and every task ends by itself. After the grace `force` is
//! cancelled and what is left is dropped; a second signal forces at once. A fault that the process
//! must not survive takes the same way out and is told at its end. What each program's tasks do when
//! they are asked to end, and how long they may take, is said in its own `shutdown.rs`.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, info, warn};

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
    /// A fault that the process must not survive, in one sentence.
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

    /// Waits for a signal or [`Tasks::stop`], then drains: tasks have `grace` to end by themselves.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub async fn run_to_end(&self, grace: Duration) -> std::io::Result<End> {
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
        Ok(self.drain(grace, second).await)
    }

    /// Stops and waits for every task, at most `grace` or until `hurry` ends.
    pub async fn drain(&self, grace: Duration, hurry: impl Future<Output = ()>) -> End {
        self.stopping.cancel();
        self.tracker.close();
        let drained = tokio::select! {
            () = self.tracker.wait() => true,
            () = tokio::time::sleep(grace) => false,
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

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::{End, Tasks};

    #[tokio::test(start_paused = true)]
    async fn tasks_end_by_themselves_or_are_ended_after_the_grace() {
        let grace = Duration::from_secs(5);
        let willing = Tasks::default();
        let stopping = willing.stopping();
        willing.spawn("willing", async move { stopping.cancelled().await });
        assert_eq!(willing.drain(grace, pending()).await, End::Drained);

        let stubborn = Tasks::default();
        stubborn.spawn("stubborn", pending());
        let before = tokio::time::Instant::now();
        assert_eq!(stubborn.drain(grace, pending()).await, End::Forced);
        assert_eq!(before.elapsed(), grace);

        let hurried = Tasks::default();
        hurried.spawn("stubborn", pending());
        let before = tokio::time::Instant::now();
        assert_eq!(hurried.drain(grace, async {}).await, End::Forced);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn the_first_fault_is_told() {
        let tasks = Tasks::default();
        tasks.fail("first".to_owned());
        tasks.fail("second".to_owned());
        assert!(tasks.stopping().is_cancelled());
        let end = tasks.drain(Duration::ZERO, pending()).await;
        assert_eq!(end, End::Fatal("first".to_owned()));
    }
}
