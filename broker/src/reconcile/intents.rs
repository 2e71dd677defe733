//! Effects of approved requests that are still to be had: each is carried out once, whatever died.

use std::time::Duration;

use super::{Bell, ReconcileError, Reconciler, Report};
use crate::approvals::{Approvals, Carrying};

/// The reconciler.
#[derive(Debug)]
pub struct Intents {
    approvals: Approvals,
    /// Rung when schedules were made or changed.
    schedules: Bell,
}

const PERIOD: Duration = Duration::from_secs(60);
/// Effects of one run.
const BATCH: u32 = 100;

// === impl Intents ===

impl Intents {
    #[must_use]
    pub fn new(approvals: Approvals, schedules: Bell) -> Self {
        Self {
            approvals,
            schedules,
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for Intents {
    fn name(&self) -> &'static str {
        "intents"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn bell(&self) -> Option<Bell> {
        Some(self.approvals.intents_bell())
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        let (mut done, mut failed) = (0, 0);
        for intent in self.approvals.intents(BATCH).await? {
            match self.approvals.carry(intent).await? {
                Carrying::Done => done += 1,
                Carrying::Failed => failed += 1,
                Carrying::Nothing => {}
            }
        }
        if done > 0 {
            self.schedules.ring();
        }
        Ok(Report::default()
            .count("carried out", done)
            .count("failed", failed))
    }
}
