//! What is known in memory of the sessions: who is connected, who has beaten when.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, UnixMs};
use hive_proto::v1::HarnessState;
use tokio::sync::mpsc;

use super::attend::Directive;
use crate::model::session::{self, Holder, Session};
use crate::store::sessions::SessionRow;

/// How long a session that was just opened counts as connected before its `Attend` has come.
const CONNECTING: Duration = Duration::from_secs(2);

/// Whether the harness holds its stream open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    Connected,
    Away,
}

/// One session as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    pub epoch: Epoch,
    pub connection: Connection,
    /// Since the last beat.
    pub silent_for: Duration,
    pub state: HarnessState,
    /// When a park ends.
    pub until: Option<UnixMs>,
    pub detail: String,
    pub version: String,
    pub level: u32,
}

/// What a harness says it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    pub state: HarnessState,
    /// When a park ends.
    pub until: Option<UnixMs>,
    /// Why it is parked, in one sentence.
    pub detail: String,
}

/// The map, shared by the services and the write closures.
#[derive(Debug)]
pub(super) struct Map {
    entries: Mutex<HashMap<AgentId, Entry>>,
    /// How long a session lives without a beat.
    pub(super) lease: Duration,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) epoch: Epoch,
    pub(super) attached: Option<Attached>,
    /// Until then it counts as connected.
    pub(super) connecting: Duration,
    /// When it was heard of last, by the monotonic clock.
    pub(super) seen: Duration,
    pub(super) doing: Doing,
    /// The row does not hold what the last beat said.
    pub(super) unwritten: bool,
    pub(super) version: String,
    pub(super) level: u32,
}

#[derive(Debug)]
pub(super) struct Attached {
    pub(super) stream: u64,
    pub(super) directives: mpsc::Sender<Directive>,
}

// === impl Map ===

impl Map {
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            lease,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's session as the model sees it: the row, and whether its holder is there.
    pub(super) fn judge(&self, row: Option<&SessionRow>, now: Duration) -> Session {
        let Some(row) = row else {
            return Session::None;
        };
        if row.instance.is_empty() {
            return Session::Fenced { epoch: row.epoch };
        }
        let holder = match self.lock().get(&row.agent) {
            Some(entry) if entry.epoch == row.epoch => entry.holder(self.lease, now),
            Some(_) | None => Holder::Away,
        };
        Session::Held {
            epoch: row.epoch,
            instance: row.instance.clone(),
            holder,
        }
    }
}

// === impl Entry ===

impl Entry {
    /// A session that was just opened.
    pub(super) fn opened(row: &SessionRow, now: Duration) -> Self {
        Self {
            connecting: now + CONNECTING,
            ..Self::restored(row, now)
        }
    }

    /// A session of a broker that ran before this one.
    pub(super) fn restored(row: &SessionRow, now: Duration) -> Self {
        Self {
            epoch: row.epoch,
            attached: None,
            connecting: Duration::ZERO,
            seen: now,
            doing: Doing {
                state: row.state,
                until: row.until,
                detail: row.detail.clone(),
            },
            unwritten: false,
            version: row.version.clone(),
            level: row.level,
        }
    }

    pub(super) fn live(&self, now: Duration) -> Live {
        Live {
            epoch: self.epoch,
            connection: self.connection(),
            silent_for: now.saturating_sub(self.seen),
            state: self.doing.state,
            until: self.doing.until,
            detail: self.doing.detail.clone(),
            version: self.version.clone(),
            level: self.level,
        }
    }

    /// Tells the holder, if it listens, and lets go of it.
    pub(super) fn cut(self) {
        if let Some(attached) = self.attached {
            // A full queue or a closed one: its next call is refused as stale anyway.
            let _ = attached.directives.try_send(Directive::Fenced);
        }
    }

    fn connection(&self) -> Connection {
        if self.attached.is_some() {
            Connection::Connected
        } else {
            Connection::Away
        }
    }

    fn holder(&self, lease: Duration, now: Duration) -> Holder {
        match self.connection() {
            Connection::Away if now >= self.connecting => Holder::Away,
            Connection::Away | Connection::Connected if session::is_lost(lease, self.seen, now) => {
                Holder::Silent
            }
            Connection::Away | Connection::Connected => Holder::Serving,
        }
    }
}
