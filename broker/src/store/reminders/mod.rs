//! The `reminders` table: messages of agents to themselves, for later.
//!
//! - `row`: one reminder, as it is stored
//! - `lifecycle`: set, fired, refused, tried again, cancelled, deleted
//! - `queries`: which there are, and which are due

mod lifecycle;
mod queries;
mod row;

pub use lifecycle::{cancel, fire, insert, prune, refuse, retry};
pub use queries::{by_key, due, failed, find, newest, next_due, unfinished, unfinished_count};
pub use row::{NewReminder, Owner, ReminderRow};
