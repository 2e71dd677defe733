//! The `outbox` tables: what the operator is told off-screen, channel by channel.
//!
//! - [`channels`]: the channels of hive.toml and how far each has read the events
//! - [`items`]: what is to be told; the same kind of thing is gathered into one notification
//! - [`rows`]: a notification's fate: pending, sent, dead

mod channels;
mod items;
mod rows;

pub use channels::{adopt, cursor, move_cursor};
pub use items::{Item, NewItem, add, close, gather, is_ripe, of_row, was_told};
pub use rows::{
    Listing, OutboxRow, begin, begun, bury, count_dead, due, fail, find, list, mark_sent, next_at,
    prune, retry,
};
