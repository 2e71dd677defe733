//! What becomes of a turn's messages when it ends, and who is told: one transaction.

use hive_proto::ids::{AgentId, MessageId};

use crate::model::message::{self, Event, State};
use crate::model::outcome::{Finish, Loss, Requeue, Settlement, Told, TurnEnd};
use crate::notices::{Notices, sender_of};
use crate::store::messages::{self, Fate, NewMessage};
use crate::store::roster;
use crate::store::turns::{self, Ended, TurnRow, Usage};
use crate::store::{Recipient, StoreError, Tx};
use crate::topology;

pub use crate::notices::post_system;

/// Which of the turn's rows its harness has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Not said: all of them.
    All,
    /// The others go back: the reply that carried them was lost.
    Only(Vec<MessageId>),
}

/// What the turn's own agent asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    Rest,
    /// Another turn after this one, unless something else waits.
    Continue,
}

/// Ends an open turn and settles every message leased under it.
///
/// # Errors
/// `Conflict` when the turn is not open.
pub fn settle(
    tx: &mut Tx<'_>,
    turn: &TurnRow,
    ended: &Ended,
    seen: &Seen,
    onward: Onward,
) -> Result<(), StoreError> {
    turns::finish(tx, turn, ended)?;
    let mut notices = Notices::default();
    for row in messages::fates_under(tx.conn(), turn.agent, turn.id)? {
        settle_row(tx, turn, ended, seen, &row, &mut notices)?;
    }
    notices.post(tx)?;
    if onward == Onward::Continue && ended.end.settlement() == Settlement::Finish(Finish::Ok) {
        go_on(tx, turn.agent)?;
    }
    Ok(())
}

/// Ends what a session that is gone still held.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn release(tx: &mut Tx<'_>, agent: AgentId, loss: Loss) -> Result<Released, StoreError> {
    let Some(turn) = turns::current(tx.conn(), agent)? else {
        return Ok(Released::Nothing);
    };
    let ended = Ended {
        end: TurnEnd::Lost(loss),
        detail: match loss {
            Loss::WithHarness => "its harness is gone".into(),
            Loss::Stopped => "its agent was stopped".into(),
        },
        usage: Usage::default(),
        model: String::new(),
    };
    settle(tx, &turn, &ended, &Seen::All, Onward::Rest)?;
    Ok(Released::Turn)
}

/// Whether there was anything to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    Nothing,
    Turn,
}

fn settle_row(
    tx: &mut Tx<'_>,
    turn: &TurnRow,
    ended: &Ended,
    seen: &Seen,
    row: &Fate,
    notices: &mut Notices,
) -> Result<(), StoreError> {
    let received = match seen {
        Seen::All => true,
        Seen::Only(ids) => ids.contains(&row.id),
    };
    let (settlement, why) = if received {
        (ended.end.settlement(), reason(ended))
    } else {
        (Settlement::Requeue(Requeue::Uncounted), "never received")
    };
    let settled = Event::Settled(settlement, tx.now());
    let after = message::next(tx.retry(), row.state, settled)
        .map_err(|illegal| StoreError::Illegal(illegal.to_string()))?;
    match after {
        State::Acked(how) => {
            messages::acknowledge(tx, row, turn.id, how)?;
            tell(tx, turn, ended, row, how, notices)
        }
        State::Queued {
            attempt,
            not_before,
            ..
        } => messages::requeue(tx, row, turn.id, attempt, not_before, why),
        State::Dead { attempt } => {
            messages::bury(tx, row, turn.id, attempt, why)?;
            mourn(tx, turn, ended, row, attempt, notices)
        }
        State::Leased { .. } => Ok(()),
    }
}

/// Tells who must know that a message was finished without being done.
fn tell(
    tx: &Tx<'_>,
    turn: &TurnRow,
    ended: &Ended,
    row: &Fate,
    how: Finish,
    notices: &mut Notices,
) -> Result<(), StoreError> {
    let told = ended.end.told();
    if told == Told::Nobody {
        return Ok(());
    }
    let name = name_of(tx, turn.agent)?;
    let line = match how {
        Finish::Cancelled => format!("message {} to {name} was cancelled", row.id),
        Finish::Ok | Finish::Failed | Finish::Read => {
            format!(
                "message {} from {} to {name} failed: {}",
                row.id,
                row.from,
                cause(ended)
            )
        }
    };
    if let Some(sender) = sender_of(row).filter(|to| *to != Recipient::Agent(turn.agent)) {
        notices.add(sender, &line);
    }
    if told == Told::SenderAndParent {
        notices.add(topology::parent(tx.conn(), turn.agent)?.recipient, &line);
    }
    Ok(())
}

/// Tells sender, parent and operator that a message has died for the last time.
fn mourn(
    tx: &Tx<'_>,
    turn: &TurnRow,
    ended: &Ended,
    row: &Fate,
    attempt: u32,
    notices: &mut Notices,
) -> Result<(), StoreError> {
    let name = name_of(tx, turn.agent)?;
    let line = format!(
        "message {} from {} to {name} is dead after {attempt} failed attempts: {}; \
         `hive dead requeue {}` runs it again",
        row.id,
        row.from,
        cause(ended),
        row.id
    );
    if let Some(sender) = sender_of(row).filter(|to| *to != Recipient::Agent(turn.agent)) {
        notices.add(sender, &line);
    }
    notices.add(topology::parent(tx.conn(), turn.agent)?.recipient, &line);
    notices.add(Recipient::Operator, &line);
    Ok(())
}

fn go_on(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    if messages::queued(tx.conn(), Recipient::Agent(agent))? > 0 {
        return Ok(());
    }
    let new = NewMessage {
        from: "self",
        from_id: Some(agent),
        to: Recipient::Agent(agent),
        body: "continue",
        in_reply_to: None,
        key: None,
    };
    messages::insert(tx, &new)?;
    Ok(())
}

fn reason(ended: &Ended) -> &'static str {
    match ended.end.failure_word() {
        "" => ended.end.word(),
        class => class,
    }
}

fn cause(ended: &Ended) -> String {
    match ended.detail.as_str() {
        "" => reason(ended).to_owned(),
        detail => format!("{}: {detail}", reason(ended)),
    }
}

fn name_of(tx: &Tx<'_>, agent: AgentId) -> Result<String, StoreError> {
    Ok(roster::member(tx.conn(), agent)?
        .map_or_else(|| format!("agent {agent}"), |member| member.name))
}
