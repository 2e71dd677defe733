//! A message as stored, and how a row is read.

use hive_proto::ids::{AgentId, MessageId, TurnId, UnixMs};
use hive_proto::v1::MessageState;
use hive_proto::words;
use rusqlite::Row;

use crate::model::message::{Delivery, State};
use crate::model::outcome::Finish;
use crate::store::{Recipient, odd};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    pub id: MessageId,
    /// As shown: an agent's name, `operator`, `system`, `self`, a wake label.
    pub from: String,
    /// The sending agent; none for anyone else.
    pub from_id: Option<AgentId>,
    pub to: Recipient,
    /// The recipient's name, or `operator`.
    pub to_name: String,
    pub body: String,
    pub in_reply_to: Option<MessageId>,
    pub state: MessageState,
    /// Deaths.
    pub attempt: u32,
    pub delivery: Delivery,
    pub not_before: Option<UnixMs>,
    /// How it ended; empty until then.
    pub result: String,
    /// The turn that took it last.
    pub turn: Option<TurnId>,
    pub queued_at: UnixMs,
    /// When it was taken last.
    pub leased_at: Option<UnixMs>,
    /// When it was acked or died.
    pub finished_at: Option<UnixMs>,
}

/// A message to be queued.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    pub from: &'a str,
    pub from_id: Option<AgentId>,
    pub to: Recipient,
    pub body: &'a str,
    pub in_reply_to: Option<MessageId>,
    pub key: Option<&'a str>,
}

/// What a notice or a settlement needs to know of a message, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    pub id: MessageId,
    pub from: String,
    pub from_id: Option<AgentId>,
    pub to: Recipient,
    pub state: State,
    pub queued_at: UnixMs,
}

/// Columns that [`read`] reads.
pub(super) const COLUMNS: &str = "id, sender, from_id, to_id, body, in_reply_to, state, attempt,
    redelivered, not_before, result, turn_id, queued_at, leased_at, finished_at,
    COALESCE((SELECT name FROM agents WHERE agents.id = to_id), 'operator')";

/// Columns that [`read_fate`] reads.
pub(super) const FATE: &str =
    "id, sender, from_id, to_id, state, attempt, redelivered, not_before, result, queued_at";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    let state: String = row.get(6)?;
    Ok(MessageRow {
        id: MessageId(row.get(0)?),
        from: row.get(1)?,
        from_id: row.get::<_, Option<i64>>(2)?.map(AgentId),
        to: recipient(row.get(3)?),
        body: row.get(4)?,
        in_reply_to: row.get::<_, Option<i64>>(5)?.map(MessageId),
        state: words::parse_message_state(&state).ok_or_else(|| odd(6, &state))?,
        attempt: row.get(7)?,
        delivery: delivery(row.get(8)?),
        not_before: row.get::<_, Option<i64>>(9)?.map(UnixMs),
        result: row.get(10)?,
        turn: row.get::<_, Option<i64>>(11)?.map(TurnId),
        queued_at: UnixMs(row.get(12)?),
        leased_at: row.get::<_, Option<i64>>(13)?.map(UnixMs),
        finished_at: row.get::<_, Option<i64>>(14)?.map(UnixMs),
        to_name: row.get(15)?,
    })
}

pub(super) fn read_fate(row: &Row<'_>) -> rusqlite::Result<Fate> {
    let word: String = row.get(4)?;
    let attempt = row.get(5)?;
    let delivery = delivery(row.get(6)?);
    let result: String = row.get(8)?;
    let state = match words::parse_message_state(&word) {
        Some(MessageState::Queued) => State::Queued {
            attempt,
            not_before: row.get::<_, Option<i64>>(7)?.map(UnixMs),
            delivery,
        },
        Some(MessageState::Leased) => State::Leased { attempt, delivery },
        Some(MessageState::Acked) => {
            State::Acked(Finish::parse(&result).ok_or_else(|| odd(8, &result))?)
        }
        Some(MessageState::Dead) => State::Dead { attempt },
        Some(MessageState::Unspecified) | None => return Err(odd(4, &word)),
    };
    Ok(Fate {
        id: MessageId(row.get(0)?),
        from: row.get(1)?,
        from_id: row.get::<_, Option<i64>>(2)?.map(AgentId),
        to: recipient(row.get(3)?),
        state,
        queued_at: UnixMs(row.get(9)?),
    })
}

/// The recipient as `messages.to_id` holds it.
pub(super) fn to_id(recipient: Recipient) -> Option<i64> {
    match recipient {
        Recipient::Operator => None,
        Recipient::Agent(id) => Some(id.0),
    }
}

/// The recipient as the queue's indexes hold it.
pub(super) fn mailbox(recipient: Recipient) -> i64 {
    to_id(recipient).unwrap_or(0)
}

/// Whose event it is: the recipient's, or the sender's when the recipient is the operator.
pub(super) fn filed_under(to: Recipient, from: Option<AgentId>) -> Option<AgentId> {
    match to {
        Recipient::Agent(id) => Some(id),
        Recipient::Operator => from,
    }
}

fn recipient(to_id: Option<i64>) -> Recipient {
    match to_id {
        None => Recipient::Operator,
        Some(id) => Recipient::Agent(AgentId(id)),
    }
}

fn delivery(redelivered: bool) -> Delivery {
    if redelivered {
        Delivery::Again
    } else {
        Delivery::First
    }
}
