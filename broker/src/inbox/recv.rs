//! Receiving: a long poll that leases what it returns under a turn.
//!
//! A client that goes away consumes nothing. If it was gone before the pop, nothing is leased. If it
//! went between the commit and the reply, the rows stay leased under the turn that the pop opened,
//! and the same session gets them again: with `Take::Begin` all rows of its open turn, with
//! `Take::Join` those that it does not name as held.

use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, MessageId, TurnId, UnixMs};
use hive_proto::limits::{RECV_BYTES, RECV_ROWS, RECV_WAIT_MS};
use tokio::time::Instant;

use super::error::{InboxError, split};
use super::send::Inbox;
use crate::store::messages::{self, MessageRow, Popped};
use crate::store::roster::{self, Work};
use crate::store::{Recipient, Standing, Turnout, Tx, sessions, turns};

/// What a harness asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecvArgs {
    pub epoch: Epoch,
    /// 0 is taken as 1; capped.
    pub max: u32,
    /// For the first row; capped.
    pub wait: Duration,
    pub take: Take,
}

/// Under which turn the rows are leased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// The first row begins one.
    Begin,
    Join {
        turn: TurnId,
        /// What was received under it so far; empty: not said.
        held: Vec<MessageId>,
    },
}

/// What a poll brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Oldest first.
    pub rows: Vec<MessageRow>,
    /// None when there are no rows.
    pub turn: Option<TurnId>,
    /// Rows queued behind these.
    pub remaining: u32,
}

impl Inbox {
    /// Waits for messages to `agent` and leases them; empty when the wait ran out.
    ///
    /// # Errors
    /// A stale epoch, a turn that is not open, the daemon's end, the store's failure.
    pub async fn recv(&self, agent: AgentId, args: RecvArgs) -> Result<Received, InboxError> {
        let recipient = self.store.wakers().recipient(Recipient::Agent(agent));
        let wait = args.wait.min(Duration::from_millis(RECV_WAIT_MS.into()));
        let deadline = Instant::now() + wait;
        let stopping = self.tasks.stopping();
        loop {
            let woken = recipient.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let mut pop = self.pop(agent, &args)?;
            let popped = tokio::select! {
                popped = pop.answer() => Some(popped?),
                () = tokio::time::sleep_until(deadline) => pop.withdraw().await?,
                () = stopping.cancelled() => match pop.withdraw().await? {
                    None => return Err(InboxError::Stopping),
                    popped => popped,
                },
            };
            let later = match popped.transpose()? {
                Some(Popped::Rows { rows, remaining }) => {
                    let turn = rows.first().and_then(|row| row.turn);
                    return Ok(Received {
                        rows,
                        turn,
                        remaining,
                    });
                }
                Some(Popped::Later(at)) => Some(at),
                Some(Popped::Empty) | None => None,
            };
            if Instant::now() >= deadline {
                return Ok(Received::default());
            }
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep_until(self.look_again(later).min(deadline)) => {}
                () = stopping.cancelled() => return Err(InboxError::Stopping),
            }
        }
    }

    /// Pops now, or in the transaction that brings something.
    fn pop(
        &self,
        agent: AgentId,
        args: &RecvArgs,
    ) -> Result<Standing<Result<Popped, InboxError>>, InboxError> {
        let (epoch, max, take) = (args.epoch, args.max.clamp(1, RECV_ROWS), args.take.clone());
        let standing = self.store.stand(move |tx| {
            Ok(match split(pop(tx, agent, epoch, max, &take))? {
                Ok(Popped::Empty) => Turnout::WaitFor(Recipient::Agent(agent)),
                popped => Turnout::Done(popped),
            })
        });
        Ok(standing?)
    }

    /// When the head of the queue may be delivered. The wall clock may be set meanwhile, so this is
    /// only when to look again.
    fn look_again(&self, later: Option<UnixMs>) -> Instant {
        const LONGEST: i64 = RECV_WAIT_MS as i64;
        let ms = later.map_or(LONGEST, |at| {
            at.0.saturating_sub(self.clock.now().0).clamp(1, LONGEST)
        });
        Instant::now() + Duration::from_millis(ms.unsigned_abs())
    }
}

fn pop(
    tx: &mut Tx<'_>,
    agent: AgentId,
    epoch: Epoch,
    max: u32,
    take: &Take,
) -> Result<Popped, InboxError> {
    let current = sessions::get(tx.conn(), agent)?;
    if !current.is_some_and(|row| row.epoch == epoch && !row.instance.is_empty()) {
        return Err(InboxError::Stale { given: epoch });
    }
    let open = turns::current(tx.conn(), agent)?.map(|turn| turn.id);
    match (take, open) {
        (Take::Begin, Some(turn)) => again(tx, agent, turn, max, &[]),
        (Take::Begin, None) => match roster::member(tx.conn(), agent)?.map(|member| member.work) {
            Some(Work::Allowed) => Ok(messages::lease(tx, agent, epoch, max, |tx, first| {
                turns::open(tx, agent, epoch, first)
            })?),
            Some(Work::Paused | Work::Stopped) | None => Ok(Popped::Empty),
        },
        (Take::Join { turn, held }, Some(open)) if *turn == open => {
            if !held.is_empty() {
                let missed = again(tx, agent, open, max, held)?;
                if matches!(missed, Popped::Rows { .. }) {
                    return Ok(missed);
                }
            }
            Ok(messages::lease(tx, agent, epoch, max, |_, _| Ok(open))?)
        }
        (Take::Join { turn, .. }, _) => Err(InboxError::NotOpen(*turn)),
    }
}

/// Hands out once more what is leased under the turn and not held, within the limits of one reply.
fn again(
    tx: &mut Tx<'_>,
    agent: AgentId,
    turn: TurnId,
    max: u32,
    held: &[MessageId],
) -> Result<Popped, InboxError> {
    let mut bytes = 0;
    let mut rows: Vec<MessageRow> = Vec::new();
    for row in messages::leased_under(tx.conn(), agent, turn)? {
        if held.contains(&row.id) {
            continue;
        }
        bytes += row.body.len();
        if !rows.is_empty() && (bytes > RECV_BYTES || rows.len() >= max as usize) {
            break;
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Ok(Popped::Empty);
    }
    for row in &mut rows {
        messages::mark_rehanded(tx, row, agent, turn)?;
    }
    let remaining = messages::queued(tx.conn(), Recipient::Agent(agent))?;
    Ok(Popped::Rows { rows, remaining })
}
