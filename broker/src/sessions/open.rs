//! Opening: resume, take over, or refuse, decided in the transaction that records it.

use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, TurnId};
use hive_proto::limits::LEVEL;
use hive_proto::v1::HarnessState;

use super::error::SessionError;
use super::live::{Entry, Map};
use crate::model::outcome::Loss;
use crate::model::rights::Tools;
use crate::model::session::{self, Admission};
use crate::settle;
use crate::store::agents::{self, AgentRow};
use crate::store::sessions::{self, Fence, SessionRow};
use crate::store::{StoreError, Tx, rights, turns};
use crate::topology;

/// How a harness introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Chosen by the process at its start.
    pub instance: String,
    pub version: String,
    pub level: u32,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub epoch: Epoch,
    pub opening: Opening,
    pub agent: AgentRow,
    /// The parent's name, or `operator`.
    pub parent: String,
    pub tools: Tools,
}

/// Whether the session is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    New,
    /// The same instance is back; its turn, if one is open, is still its.
    Resumed(Option<TurnId>),
}

/// Longest instance and version, in bytes.
const WORD: usize = 100;

// === impl Hello ===

impl Hello {
    pub(super) fn check(&self) -> Result<(), SessionError> {
        let fits = |word: &str| !word.is_empty() && word.len() <= WORD;
        if !fits(&self.instance) || self.version.len() > WORD {
            return Err(SessionError::BadInstance);
        }
        Ok(())
    }
}

/// The whole opening. The map is changed here, before the commit: should that fail, the map's epoch
/// fits no row, and its entry counts for nothing.
pub(super) fn open(
    tx: &mut Tx<'_>,
    map: &Map,
    now: Duration,
    agent: AgentId,
    hello: &Hello,
) -> Result<Result<Opened, SessionError>, StoreError> {
    let Some(row) = agents::get(tx.conn(), agent)?.filter(|row| row.removed_at.is_none()) else {
        return Ok(Err(SessionError::AgentGone));
    };
    let current = sessions::get(tx.conn(), agent)?;
    let judged = map.judge(current.as_ref(), now);
    let (epoch, opening) = match session::admit(&judged, &hello.instance, hello.level) {
        Admission::LevelNotServed => {
            let (given, spoken) = (hello.level, LEVEL);
            return Ok(Err(SessionError::LevelNotServed { given, spoken }));
        }
        Admission::Taken => return Ok(Err(SessionError::Taken)),
        Admission::Resumes { epoch } => (epoch, resume(tx, map, now, agent, epoch, hello)?),
        Admission::Opens { epoch, fences } => {
            if let Some(old) = fences {
                settle::release(tx, agent, Loss::WithHarness)?;
                sessions::fence(tx, agent, old, Fence::Replaced)?;
            }
            let new = session_row(agent, epoch, hello);
            sessions::open(tx, &new)?;
            if let Some(old) = map.lock().insert(agent, Entry::opened(&new, now)) {
                old.cut();
            }
            (epoch, Opening::New)
        }
    };
    Ok(Ok(Opened {
        epoch,
        opening,
        parent: topology::parent(tx.conn(), agent)?.name,
        tools: rights::get(tx.conn(), agent)?.tools,
        agent: row,
    }))
}

fn resume(
    tx: &mut Tx<'_>,
    map: &Map,
    now: Duration,
    agent: AgentId,
    epoch: Epoch,
    hello: &Hello,
) -> Result<Opening, StoreError> {
    let turn = turns::current(tx.conn(), agent)?.map(|turn| turn.id);
    let row = session_row(agent, epoch, hello);
    sessions::resume(tx, &row, turn.map_or(0, |turn| turn.0))?;
    let mut entries = map.lock();
    match entries.get_mut(&agent) {
        Some(entry) if entry.epoch == epoch => {
            entry.seen = now;
            entry.version.clone_from(&hello.version);
            entry.level = hello.level;
        }
        Some(_) | None => {
            entries.insert(agent, Entry::opened(&row, now));
        }
    }
    Ok(Opening::Resumed(turn))
}

fn session_row(agent: AgentId, epoch: Epoch, hello: &Hello) -> SessionRow {
    SessionRow {
        agent,
        instance: hello.instance.clone(),
        epoch,
        state: HarnessState::Idle,
        until: None,
        detail: String::new(),
        version: hello.version.clone(),
        level: hello.level,
    }
}
