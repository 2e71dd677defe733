//! Schedules whose slots have come: fired or skipped, each slot once.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Bell, ReconcileError, Reconciler, Report, until};
use crate::clock::Clock;
use crate::schedules::Schedules;

/// The reconciler.
#[derive(Debug)]
pub struct Firing {
    schedules: Schedules,
    clock: Clock,
    wait: Mutex<Duration>,
}

/// The longest wait: a wall clock that jumps is noticed within it.
const PERIOD: Duration = Duration::from_secs(20);
/// Schedules of one look.
const BATCH: u32 = 50;

// === impl Firing ===

impl Firing {
    #[must_use]
    pub fn new(schedules: Schedules, clock: Clock) -> Self {
        Self {
            schedules,
            clock,
            wait: Mutex::new(PERIOD),
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for Firing {
    fn name(&self) -> &'static str {
        "schedules"
    }

    fn period(&self) -> Duration {
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bell(&self) -> Option<Bell> {
        Some(self.schedules.bell())
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        let dropped = self.schedules.drop_purged().await?;
        let (mut fired, mut skipped) = (0, 0);
        loop {
            let settled = self.schedules.settle_due(self.clock.now(), BATCH).await?;
            (fired, skipped) = (fired + settled.fired, skipped + settled.skipped);
            if settled.schedules == 0 {
                break;
            }
        }
        let next = self.schedules.next_due().await?;
        let wait = until(next, self.clock.now(), PERIOD);
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = wait;
        Ok(Report::default()
            .count("fired", fired)
            .count("skipped", skipped)
            .count("dropped", dropped))
    }
}
