//! Sessions that have fallen silent: what they hold runs again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::sessions::Sessions;

/// The reconciler.
#[derive(Debug)]
pub struct Leases {
    sessions: Sessions,
    clock: Clock,
    /// The last run, by the monotonic clock.
    last: Mutex<Duration>,
}

const PERIOD: Duration = Duration::from_secs(5);

// === impl Leases ===

impl Leases {
    #[must_use]
    pub fn new(sessions: Sessions, clock: Clock) -> Self {
        let last = Mutex::new(clock.monotonic());
        Self {
            sessions,
            clock,
            last,
        }
    }

    /// Whether the broker was stopped (SIGSTOP, a sleeping host) since the last run: a gap of half a
    /// lease is one in which it cannot have listened.
    fn stood_still(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = now.saturating_sub(*last);
        *last = now;
        gap >= self.sessions.lease() / 2
    }
}

#[async_trait::async_trait]
impl Reconciler for Leases {
    fn name(&self) -> &'static str {
        "leases"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        self.sessions.restore().await?;
        let report = Report::default().count("sessions", self.sessions.count());
        if self.stood_still() {
            self.sessions.excuse_all();
            return Ok(report
                .count("lost", 0)
                .note("hived stood still; all start afresh"));
        }
        let lost = self.sessions.lost();
        for (agent, epoch) in &lost {
            self.sessions.lose(*agent, *epoch).await?;
        }
        Ok(report.count("lost", lost.len()))
    }
}
