//! One closure's view of the write transaction: the connection, and what to do once it is on disk.

use hive_proto::ids::{AgentId, UnixMs};
use rusqlite::Connection;

/// Whose long poll a committed row wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipient {
    Operator,
    Agent(AgentId),
}

/// Handed to every write closure.
#[derive(Debug)]
pub struct Tx<'a> {
    conn: &'a Connection,
    now: UnixMs,
    wakes: Vec<Recipient>,
    evented: bool,
}

/// What a committed closure asks for.
#[derive(Debug, Default)]
pub(super) struct AfterCommit {
    pub(super) wakes: Vec<Recipient>,
    pub(super) evented: bool,
}

// === impl Tx ===

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a Connection, now: UnixMs) -> Self {
        Self {
            conn,
            now,
            wakes: Vec::new(),
            evented: false,
        }
    }

    /// The connection, for the queries of this folder.
    #[must_use]
    pub fn conn(&self) -> &'a Connection {
        self.conn
    }

    /// Wall time of this transaction: every row it writes bears the same.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        self.now
    }

    /// Wakes the recipient's long polls after the commit.
    pub fn wake(&mut self, recipient: Recipient) {
        if !self.wakes.contains(&recipient) {
            self.wakes.push(recipient);
        }
    }

    /// Wakes the watchers of events after the commit.
    pub(super) fn mark_evented(&mut self) {
        self.evented = true;
    }

    pub(super) fn finish(self) -> AfterCommit {
        AfterCommit {
            wakes: self.wakes,
            evented: self.evented,
        }
    }
}
