//! Waiting for the answer to one's own question inside a turn.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, MessageId, QuestionId, TurnId};
use hive_proto::limits::RECV_WAIT_MS;
use hive_proto::v1::{MessageState, QuestionState};
use tokio::time::Instant;

use super::ask::Questions;
use super::error::{QuestionError, split};
use crate::store::questions::{self as table, QuestionRow};
use crate::store::{Recipient, Tx, messages, sessions, turns};

/// What a harness waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitArgs {
    pub epoch: Epoch,
    /// Its open turn.
    pub turn: TurnId,
    /// What was received under it so far.
    pub held: Vec<MessageId>,
    pub id: QuestionId,
    /// Capped at 180 s.
    pub wait: Duration,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Open still when the wait ran out.
    pub question: QuestionRow,
    /// The message that brings the answer, now the turn's; none when it was delivered otherwise.
    pub message: Option<MessageId>,
}

// === impl Questions ===

impl Questions {
    /// Waits until the question is decided and takes the message that says so into the turn.
    ///
    /// # Errors
    /// A question of somebody else, a stale epoch, a turn that is not open, the store.
    pub async fn wait(&self, asker: AgentId, args: WaitArgs) -> Result<Waited, QuestionError> {
        let recipient = self.store.wakers().recipient(Recipient::Agent(asker));
        let wait = args.wait.min(Duration::from_millis(RECV_WAIT_MS.into()));
        let deadline = Instant::now() + wait;
        let stopping = self.tasks.stopping();
        // Lives as long as the caller does: nothing is taken for one that is gone.
        let caller = Arc::new(());
        loop {
            let woken = recipient.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let question = self.own(asker, args.id).await?;
            if question.state != QuestionState::Open {
                return self.take(asker, &args, Arc::downgrade(&caller)).await;
            }
            if Instant::now() >= deadline {
                let message = None;
                return Ok(Waited { question, message });
            }
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = stopping.cancelled() => return Err(QuestionError::Stopping),
            }
        }
    }

    async fn own(&self, asker: AgentId, id: QuestionId) -> Result<QuestionRow, QuestionError> {
        let found = self.store.read(move |conn| table::find(conn, id)).await?;
        let row = found.ok_or(QuestionError::NoSuchQuestion(id))?;
        if row.asker != asker {
            let asker = row.asker_name;
            return Err(QuestionError::NotWaiting { id, asker });
        }
        Ok(row)
    }

    async fn take(
        &self,
        asker: AgentId,
        args: &WaitArgs,
        caller: Weak<()>,
    ) -> Result<Waited, QuestionError> {
        let args = args.clone();
        self.store
            .write(move |tx| {
                if caller.strong_count() == 0 {
                    return Ok(Err(QuestionError::Stopping));
                }
                split(take(tx, asker, &args))
            })
            .await?
    }
}

fn take(tx: &mut Tx<'_>, asker: AgentId, args: &WaitArgs) -> Result<Waited, QuestionError> {
    let current = sessions::get(tx.conn(), asker)?;
    if !current.is_some_and(|row| row.epoch == args.epoch && !row.instance.is_empty()) {
        return Err(QuestionError::Stale { given: args.epoch });
    }
    let open = turns::current(tx.conn(), asker)?.map(|turn| turn.id);
    if open != Some(args.turn) {
        return Err(QuestionError::NotOpen(args.turn));
    }
    let question =
        table::find(tx.conn(), args.id)?.ok_or(QuestionError::NoSuchQuestion(args.id))?;
    let message = match question.message {
        Some(id) => claim(tx, asker, args, id)?,
        None => None,
    };
    Ok(Waited { question, message })
}

/// The message becomes the turn's, unless it was delivered before.
fn claim(
    tx: &mut Tx<'_>,
    asker: AgentId,
    args: &WaitArgs,
    id: MessageId,
) -> Result<Option<MessageId>, QuestionError> {
    let Some(mut row) = messages::find(tx.conn(), id)? else {
        return Ok(None);
    };
    match row.state {
        MessageState::Queued => {
            messages::lease_one(tx, &mut row, asker, args.turn, args.epoch)?;
            Ok(Some(id))
        }
        // The reply that carried it was lost.
        MessageState::Leased if row.turn == Some(args.turn) && !args.held.contains(&id) => {
            messages::mark_rehanded(tx, &mut row, asker, args.turn)?;
            Ok(Some(id))
        }
        MessageState::Leased
        | MessageState::Acked
        | MessageState::Dead
        | MessageState::Unspecified => Ok(None),
    }
}
