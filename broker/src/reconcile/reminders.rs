//! Reminders whose time has come: their messages are queued.

use std::time::Duration;

use super::alarm::Alarm;
use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::reminders::{Fired, Reminders};

/// The reconciler.
#[derive(Debug)]
pub struct DueReminders {
    reminders: Reminders,
    clock: Clock,
    alarm: Alarm,
}

/// Its name: nudged when a reminder was set or is to be tried again.
pub const REMINDERS: &str = "reminders";

// === impl DueReminders ===

impl DueReminders {
    #[must_use]
    pub fn new(reminders: Reminders, clock: Clock) -> Self {
        let alarm = Alarm::new(clock.clone());
        Self {
            reminders,
            clock,
            alarm,
        }
    }
}

#[async_trait::async_trait]
impl Reconciler for DueReminders {
    fn name(&self) -> &'static str {
        REMINDERS
    }

    fn period(&self) -> Duration {
        self.alarm.period()
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        // Looked for without the writer: usually there is nothing.
        let mut next = self.reminders.next_due().await?;
        let mut done = Fired::default();
        if next.is_some_and(|at| at <= self.clock.now()) {
            done = self.reminders.fire_due().await?;
            next = self.reminders.next_due().await?;
        }
        self.alarm.set(next);
        Ok(Report::default()
            .count("fired", done.fired)
            .count("refused", done.refused))
    }
}
