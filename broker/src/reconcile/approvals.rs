//! Requests that nobody decided in time, and those of agents that were purged.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Bell, ReconcileError, Reconciler, Report, until};
use crate::approvals::Approvals;
use crate::clock::Clock;

/// The reconciler.
#[derive(Debug)]
pub struct Expiry {
    approvals: Approvals,
    clock: Clock,
    wait: Mutex<Duration>,
}

/// The longest wait: a wall clock that jumps, and purged agents, are noticed within it.
const PERIOD: Duration = Duration::from_secs(60);
/// Requests of one look.
const BATCH: u32 = 100;

// === impl Expiry ===

impl Expiry {
    #[must_use]
    pub fn new(approvals: Approvals, clock: Clock) -> Self {
        Self {
            approvals,
            clock,
            wait: Mutex::new(PERIOD),
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for Expiry {
    fn name(&self) -> &'static str {
        "approvals"
    }

    fn period(&self) -> Duration {
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bell(&self) -> Option<Bell> {
        Some(self.approvals.expiry_bell())
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        let (mut expired, mut cancelled) = (0, 0);
        loop {
            let (late, orphaned) = self.approvals.lapse(self.clock.now(), BATCH).await?;
            (expired, cancelled) = (expired + late, cancelled + orphaned);
            if late + orphaned == 0 {
                break;
            }
        }
        let next = self.approvals.next_expiry().await?;
        let wait = until(next, self.clock.now(), PERIOD);
        *self.wait.lock().unwrap_or_else(PoisonError::into_inner) = wait;
        Ok(Report::default()
            .count("expired", expired)
            .count("cancelled", cancelled))
    }
}
