//! The `messages` table: every inbox of the hive, one row a message.

mod lifecycle;
mod queries;
mod queue;
mod row;

pub use lifecycle::{
    acknowledge, bury, bury_queued, insert, mark_read, mark_stalled, prune, requeue, revive,
};
pub use queries::{
    Earlier, Listing, Unread, by_key, dead, dead_to_requeue, fate, find, from_under, inbox,
    is_queued, replies, stalled, unread_counts,
};
pub use queue::{
    Popped, fates_under, full, lease, lease_one, leased_under, mark_rehanded, queued, queued_fates,
};
pub use row::{Fate, MessageRow, NewMessage};
