//! Questions that have run out of time: their askers are told.

use std::time::Duration;

use super::alarm::Alarm;
use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::questions::Questions;

/// The reconciler.
#[derive(Debug)]
pub struct Deadlines {
    questions: Questions,
    clock: Clock,
    alarm: Alarm,
}

/// Its name: nudged when a question with a deadline was asked.
pub const DEADLINES: &str = "deadlines";

// === impl Deadlines ===

impl Deadlines {
    #[must_use]
    pub fn new(questions: Questions, clock: Clock) -> Self {
        let alarm = Alarm::new(clock.clone());
        Self {
            questions,
            clock,
            alarm,
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for Deadlines {
    fn name(&self) -> &'static str {
        DEADLINES
    }

    fn period(&self) -> Duration {
        self.alarm.period()
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        // Looked for without the writer: usually there is nothing.
        let mut next = self.questions.next_deadline().await?;
        let mut expired = 0;
        if next.is_some_and(|at| at <= self.clock.now()) {
            expired = self.questions.expire_due().await?;
            next = self.questions.next_deadline().await?;
        }
        self.alarm.set(next);
        Ok(Report::default().count("expired", expired))
    }
}
