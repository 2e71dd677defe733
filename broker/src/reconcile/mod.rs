//! Reconcilers: each repairs one kind of failure, takes no input, and changes nothing when run twice.
//!
//! They run on a period and on a nudge; a retry is the next run. `hive status` shows the last result
//! of each.

mod alarm;
mod approvals;
mod bell;
mod containers;
mod deadlines;
mod disk;
mod driver;
mod due;
mod intents;
mod leases;
mod reconciler;
mod reminders;
mod report;
mod retention;
mod schedules;
mod stalled;

use due::until;

pub use approvals::Expiry;
pub use bell::Bell;
pub use containers::Containers;
pub use deadlines::{DEADLINES, Deadlines};
pub use disk::{Disk, DiskRoom, Probe, Room};
pub use driver::{Last, Reconcilers, Status};
pub use intents::Intents;
pub use leases::Leases;
pub use reconciler::{ReconcileError, Reconciler};
pub use reminders::{DueReminders, REMINDERS};
pub use report::Report;
pub use retention::Retention;
pub use schedules::Firing;
pub use stalled::Stalled;
