//! The `schedules` table with its targets and occurrences.

mod lifecycle;
mod occurrences;
mod queries;
mod row;
mod targets;

pub use lifecycle::{advance, cancel, insert, prune, redefine};
pub use occurrences::{
    NewOccurrence, OccurrenceRow, Settled, by_key, counted, is_settled, newest, of_slot,
    prune_occurrences, settle,
};
pub use queries::{Listing, Owners, abandoned, active_of, due, find, list, next_due};
pub use row::{Definition, NewSchedule, Owner, ScheduleRow};
pub use targets::{
    Membership, TargetRow, add_target, close_target, purged_targets, remove_target, targets,
};
