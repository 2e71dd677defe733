//! Reminders: messages of an agent to itself, for later. Nobody has to approve them.
//!
//! - [`due`]: what a model may write for a time
//! - [`set`]: setting, with the cap
//! - [`fire`]: delivering what is due: the row fires and its message is queued in one transaction, so
//!   a crash leaves both or neither
//! - [`manage`]: looking, cancelling, trying again

mod due;
mod error;
mod fire;
mod manage;
mod set;

pub use crate::store::reminders::{Owner, ReminderRow};
pub use error::ReminderError;
pub use fire::Fired;
pub use manage::{Listing, cancel_for, owner_is_purged};
pub use set::{Limits, Reminders, Setting, WasSet};
