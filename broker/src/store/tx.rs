//! One closure's view of the write transaction: the connection, and what to do once it is on disk.

use hive_proto::ids::{AgentId, UnixMs};
use rusqlite::Connection;

use super::room::Room;
use crate::model::retry::Retry;

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
    retry: Retry,
    wakes: Vec<Recipient>,
    evented: bool,
    room: &'a Room,
}

/// What a committed closure asks for.
#[derive(Debug, Default)]
pub(super) struct AfterCommit {
    pub(super) wakes: Vec<Recipient>,
    pub(super) evented: bool,
}

// === impl Tx ===

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a Connection, now: UnixMs, retry: Retry, room: &'a Room) -> Self {
        Self {
            conn,
            now,
            retry,
            wakes: Vec::new(),
            evented: false,
            room,
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

    /// The rule by which messages are tried again.
    #[must_use]
    pub fn retry(&self) -> &Retry {
        &self.retry
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

    /// What is known of mailboxes with room.
    pub(super) fn room(&self) -> &'a Room {
        self.room
    }

    pub(super) fn finish(self) -> AfterCommit {
        AfterCommit {
            wakes: self.wakes,
            evented: self.evented,
        }
    }
}

// === impl AfterCommit ===

impl AfterCommit {
    /// Takes in what another closure of the same commit asks for.
    pub(super) fn add(&mut self, other: Self) {
        for wake in other.wakes {
            if !self.wakes.contains(&wake) {
                self.wakes.push(wake);
            }
        }
        self.evented |= other.evented;
    }
}
