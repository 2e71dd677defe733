//! All SQL of the broker, one file a table; nothing outside this folder names rusqlite.
//!
//! One writer thread owns the only connection that writes. It takes closures over a channel and
//! commits them in groups: each closure in a savepoint of its own, one commit for the group, and
//! only then are replies sent and waiters woken. So "answered" means "on disk" (WAL,
//! `synchronous=FULL`), and one slow fsync serves everyone who waits for it. A long poll waits with the writer
//! ([`standing`]): the commit that holds a message holds its receipt, too. Reads run on a pool of
//! read-only connections and see committed data only.
//!
//! What ends the daemon: a failed fsync (the page cache can no longer be trusted, so nothing is
//! retried). What does not: a full disk; the call fails, nothing is acked, later ones may succeed.

mod error;
mod migrate;
#[cfg(test)]
mod migrate_tests;
mod open;
mod readers;
mod room;
mod standing;
#[cfg(test)]
mod tests;
mod tx;
mod writer;

pub mod agents;
pub mod approvals;
pub mod events;
pub mod intents;
pub mod messages;
pub mod outbox;
pub mod purges;
pub mod questions;
pub mod reminders;
pub mod rights;
pub mod roster;
pub mod schedules;
pub mod sessions;
pub mod turns;

pub use error::StoreError;
pub use open::{MIN_SQLITE, Store, StoreFacts};
pub use rusqlite::Connection as Conn;
pub use standing::{Standing, Turnout};
pub use tx::{Recipient, Tx};

/// A stored word that no enum of ours has.
fn odd(at: usize, what: &str) -> rusqlite::Error {
    let text = format!("unexpected {what:?}");
    rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, text.into())
}
