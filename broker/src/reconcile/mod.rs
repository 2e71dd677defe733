//! Reconcilers: each repairs one kind of failure, takes no input, and changes nothing when run twice.
//!
//! They run on a period and on a nudge; a retry is the next run. `hive status` shows the last result
//! of each.

mod alarm;
mod approvals;
mod bell;
mod containers;
mod deadlines;
mod driver;
mod intents;
mod leases;
mod reminders;
mod retention;
mod schedules;
mod stalled;

pub use approvals::Expiry;
pub use bell::Bell;
pub use containers::Containers;
pub use deadlines::{DEADLINES, Deadlines};
pub use driver::{Last, Reconcilers, Status};
pub use intents::Intents;
pub use leases::Leases;
pub use reminders::{DueReminders, REMINDERS};
pub use retention::Retention;
pub use schedules::Firing;
pub use stalled::Stalled;

use std::time::Duration;

use hive_proto::ids::UnixMs;

use crate::store::StoreError;

/// One reconciler.
#[async_trait::async_trait]
pub trait Reconciler: Send + Sync + std::fmt::Debug {
    /// Unique, one word.
    fn name(&self) -> &'static str;

    /// Between the end of one run and the beginning of the next, unless nudged. Asked after each run,
    /// so that one that waits for a time can name it.
    fn period(&self) -> Duration;

    /// What a service rings to have it run soon; none by default.
    fn bell(&self) -> Option<Bell> {
        None
    }

    /// Compares what is with what should be and repairs it. Safe to repeat and to cut off.
    async fn run(&self) -> Result<Report, ReconcileError>;
}

/// What a run did, in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    counts: Vec<(&'static str, usize)>,
    note: Option<String>,
}

/// Why a run could not be finished; the next one tries again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something outside hive does not do its part.
    #[error("{0}")]
    Outside(String),
}

// === impl Report ===

impl Report {
    /// Adds a count, e.g. `checked`.
    #[must_use]
    pub fn count(mut self, what: &'static str, how_many: usize) -> Self {
        self.counts.push((what, how_many));
        self
    }

    /// Adds a sentence on what was out of the ordinary.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// The count of that name; 0 when there is none.
    #[must_use]
    pub fn get(&self, what: &str) -> usize {
        self.counts
            .iter()
            .find(|(name, _)| *name == what)
            .map_or(0, |(_, count)| *count)
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (what, count)) in self.counts.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {what}")?;
        }
        match &self.note {
            Some(note) if self.counts.is_empty() => f.write_str(note),
            Some(note) => write!(f, " ({note})"),
            None => Ok(()),
        }
    }
}

/// How long to wait for `next`, at most `most`.
fn until(next: Option<UnixMs>, now: UnixMs, most: Duration) -> Duration {
    let Some(next) = next else { return most };
    let ms = u64::try_from(next.0.saturating_sub(now.0)).unwrap_or(0);
    Duration::from_millis(ms).min(most)
}
