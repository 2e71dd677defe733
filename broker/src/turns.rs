//! Turns: ending them once, whatever is lost on the way, and cancelling them.

use hive_proto::ids::{AgentId, Epoch, TurnId};
use hive_proto::v1::{FailureClass, Outcome};

use crate::model::outcome::{Loss, NotReported, TurnEnd};
use crate::sessions::{Directive, Reach, Sessions};
use crate::settle::{self, Onward, Seen};
use crate::store::turns::{self as table, Ended, TurnRow, Usage};
use crate::store::{Store, StoreError, Tx, sessions};

/// The turns service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Turns {
    store: Store,
    sessions: Sessions,
}

/// How a harness ends a turn.
#[derive(Clone, Debug)]
pub struct EndTurn {
    pub epoch: Epoch,
    pub turn: TurnId,
    pub outcome: Outcome,
    pub failure: FailureClass,
    /// One sentence for people.
    pub detail: String,
    pub usage: Usage,
    /// Empty: as it began.
    pub model: String,
    pub seen: Seen,
    pub onward: Onward,
}

/// Whether this call ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Ended,
    /// An earlier call of the same session did.
    AlreadyEnded,
}

/// Why a call about a turn was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TurnError {
    #[error("epoch {given} is no longer the session's")]
    Stale { given: Epoch },
    #[error("turn {0} does not exist")]
    NoSuchTurn(TurnId),
    #[error("turn {0} is another agent's")]
    NotYours(TurnId),
    #[error(transparent)]
    Outcome(#[from] NotReported),
    #[error("no turn is running")]
    NothingRuns,
    #[error("its harness is not connected")]
    NotConnected,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Longest detail of a turn, in characters.
const DETAIL: usize = 1000;

// === impl Turns ===

impl Turns {
    #[must_use]
    pub fn new(store: Store, sessions: Sessions) -> Self {
        Self { store, sessions }
    }

    /// Ends a turn and settles its messages, in one transaction. Ending it again changes nothing.
    ///
    /// # Errors
    /// A stale epoch (which leaves an audit event), a turn that is not the agent's, the store.
    pub async fn end(&self, agent: AgentId, args: EndTurn) -> Result<Ending, TurnError> {
        let end = TurnEnd::reported(args.outcome, args.failure)?;
        self.store
            .write(move |tx| match finish(tx, agent, end, &args) {
                Err(TurnError::Store(failure)) => Err(failure),
                other => Ok(other),
            })
            .await?
    }

    /// Tells the harness to end its turn as cancelled.
    ///
    /// # Errors
    /// When no turn runs or the harness is not connected.
    pub async fn cancel(&self, agent: AgentId) -> Result<TurnId, TurnError> {
        let turn = self.current(agent).await?.ok_or(TurnError::NothingRuns)?;
        match self.sessions.direct(agent, Directive::CancelTurn(turn.id)) {
            Reach::Sent => Ok(turn.id),
            Reach::NotConnected => Err(TurnError::NotConnected),
        }
    }

    /// Settles what the session of a process that is gone still held, and fences it.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn release(&self, agent: AgentId, loss: Loss) -> Result<(), TurnError> {
        Ok(self.sessions.release(agent, loss).await?)
    }

    /// The agent's open turn.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn current(&self, agent: AgentId) -> Result<Option<TurnRow>, TurnError> {
        Ok(self
            .store
            .read(move |conn| table::current(conn, agent))
            .await?)
    }
}

fn finish(
    tx: &mut Tx<'_>,
    agent: AgentId,
    end: TurnEnd,
    args: &EndTurn,
) -> Result<Ending, TurnError> {
    let turn = table::get(tx.conn(), args.turn)?.ok_or(TurnError::NoSuchTurn(args.turn))?;
    if turn.agent != agent {
        return Err(TurnError::NotYours(args.turn));
    }
    let session = sessions::get(tx.conn(), agent)?;
    let held = session
        .as_ref()
        .is_some_and(|row| row.epoch == args.epoch && !row.instance.is_empty());
    if !held || turn.epoch != args.epoch {
        let current = session.map_or(Epoch(0), |row| row.epoch);
        table::note_refused(tx, agent, args.turn, args.epoch, current, end.word())?;
        return Err(TurnError::Stale { given: args.epoch });
    }
    if turn.ended_at.is_some() {
        return Ok(Ending::AlreadyEnded);
    }
    let ended = Ended {
        end,
        detail: args.detail.chars().take(DETAIL).collect(),
        usage: args.usage,
        model: args.model.clone(),
    };
    settle::settle(tx, &turn, &ended, &args.seen, args.onward)?;
    Ok(Ending::Ended)
}
