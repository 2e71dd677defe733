//! Sending, inside the transaction: every check comes before the first write.

use hive_proto::ids::{AgentId, MessageId};
use hive_proto::limits::KEY_BYTES;
use hive_proto::name::WakeLabel;

use super::error::InboxError;
use super::send::{Delivered, Limits, Novelty, Outgoing, Sent};
use crate::store::messages::{self, Earlier, NewMessage};
use crate::store::roster::{self, Life};
use crate::store::{Recipient, Tx, turns};
use crate::topology::{self, Sender, Target, Targets, Unresolved};

/// The sender as rows show it.
struct Origin {
    name: String,
    id: Option<AgentId>,
}

pub(super) fn send(
    tx: &mut Tx<'_>,
    limits: Limits,
    from: Sender,
    to: &str,
    outgoing: &Outgoing,
) -> Result<Delivered, InboxError> {
    check(limits, outgoing)?;
    let sender = sender(tx, from)?;
    match topology::resolve(tx.conn(), from, to)? {
        Targets::One(target) => {
            let reply = threaded(tx, &sender, target.recipient, outgoing)?;
            put(tx, limits, &sender, target, outgoing, reply).map(Delivered::One)
        }
        Targets::All(targets) => {
            let mut results = Vec::with_capacity(targets.len());
            for target in targets {
                let name = target.name.clone();
                match put(tx, limits, &sender, target, outgoing, None) {
                    Err(InboxError::Store(failure)) => return Err(failure.into()),
                    result => results.push((name, result)),
                }
            }
            Ok(Delivered::All(results))
        }
    }
}

pub(super) fn wake(
    tx: &mut Tx<'_>,
    limits: Limits,
    agent: AgentId,
    label: &WakeLabel,
    outgoing: &Outgoing,
) -> Result<Sent, InboxError> {
    check(limits, outgoing)?;
    let own = living(tx, agent)?;
    if let Ok(name) = label.as_str().parse()
        && roster::named(tx.conn(), &name)?.is_some()
    {
        return Err(InboxError::LabelIsAgent(label.as_str().to_owned()));
    }
    let from = Origin {
        name: label.as_str().to_owned(),
        id: None,
    };
    let target = Target {
        recipient: Recipient::Agent(agent),
        name: own,
    };
    put(tx, limits, &from, target, outgoing, None)
}

/// Queues a schedule's message: nothing is threaded, and its key names its slot.
pub(crate) fn post_scheduled(
    tx: &mut Tx<'_>,
    limits: Limits,
    (from, from_id): (&str, Option<AgentId>),
    (to, to_name): (AgentId, &str),
    body: &str,
    key: &str,
) -> Result<MessageId, InboxError> {
    let from = Origin {
        name: from.to_owned(),
        id: from_id,
    };
    let target = Target {
        recipient: Recipient::Agent(to),
        name: to_name.to_owned(),
    };
    let outgoing = Outgoing {
        body: body.to_owned(),
        in_reply_to: None,
        key: Some(key.to_owned()),
    };
    put(tx, limits, &from, target, &outgoing, None).map(|sent| sent.id)
}

fn check(limits: Limits, outgoing: &Outgoing) -> Result<(), InboxError> {
    let bytes = outgoing.body.len();
    if bytes > limits.body_bytes {
        let most = limits.body_bytes;
        return Err(InboxError::BodyTooLarge { bytes, most });
    }
    if bytes == 0 {
        return Err(InboxError::EmptyBody);
    }
    match &outgoing.key {
        Some(key) if key.len() > KEY_BYTES => Err(InboxError::KeyTooLong {
            bytes: key.len(),
            most: KEY_BYTES,
        }),
        Some(_) | None => Ok(()),
    }
}

fn sender(tx: &Tx<'_>, from: Sender) -> Result<Origin, InboxError> {
    let (name, id) = match from {
        Sender::Agent(id) => (living(tx, id)?, Some(id)),
        Sender::Operator => ("operator".to_owned(), None),
        Sender::System => ("system".to_owned(), None),
    };
    Ok(Origin { name, id })
}

fn living(tx: &Tx<'_>, agent: AgentId) -> Result<String, InboxError> {
    let unknown = || Unresolved::UnknownAgent(format!("with the id {agent}"));
    let member = roster::member(tx.conn(), agent)?.ok_or_else(unknown)?;
    match member.life {
        Life::Living => Ok(member.name),
        Life::Removed => Err(unknown().into()),
    }
}

/// The message that this one replies to. An agent's send to X while it works on X's message is a
/// reply to it, unless the agent says otherwise.
fn threaded(
    tx: &Tx<'_>,
    from: &Origin,
    to: Recipient,
    outgoing: &Outgoing,
) -> Result<Option<MessageId>, InboxError> {
    match (outgoing.in_reply_to, from.id) {
        (Some(0), _) | (None, None) => Ok(None),
        (Some(id), _) => replied(tx, from, MessageId(id)).map(Some),
        (None, Some(agent)) => match turns::current(tx.conn(), agent)? {
            None => Ok(None),
            Some(turn) => Ok(messages::from_under(tx.conn(), agent, turn.id, to)?),
        },
    }
}

/// An agent replies only to what it received or sent: whoever waits for an answer can trust it.
fn replied(tx: &Tx<'_>, from: &Origin, id: MessageId) -> Result<MessageId, InboxError> {
    let row = messages::fate(tx.conn(), id)?.ok_or(InboxError::NoSuchMessage(id))?;
    match from.id {
        Some(agent) if row.to != Recipient::Agent(agent) && row.from_id != Some(agent) => {
            Err(InboxError::NotYours(id))
        }
        Some(_) | None => Ok(id),
    }
}

fn put(
    tx: &mut Tx<'_>,
    limits: Limits,
    from: &Origin,
    target: Target,
    outgoing: &Outgoing,
    in_reply_to: Option<MessageId>,
) -> Result<Sent, InboxError> {
    let key = outgoing.key.as_deref().filter(|key| !key.is_empty());
    let earlier = match key {
        None => Earlier::None,
        Some(key) => {
            messages::by_key(tx.conn(), target.recipient, &from.name, key, &outgoing.body)?
        }
    };
    let (id, novelty) = match earlier {
        Earlier::Same(id) => (id, Novelty::Duplicate),
        Earlier::Other(id) => return Err(InboxError::KeyConflict(id)),
        Earlier::None => {
            allow(tx, from, &target)?;
            admit(tx, limits, &target)?;
            let new = NewMessage {
                from: &from.name,
                from_id: from.id,
                to: target.recipient,
                body: &outgoing.body,
                in_reply_to,
                key,
            };
            (messages::insert(tx, &new)?, Novelty::New)
        }
    };
    Ok(Sent {
        id,
        novelty,
        to: target.recipient,
        to_name: target.name,
    })
}

/// Only an agent's messages have a sender's id: a wake goes to its own inbox, which is open to it.
fn allow(tx: &Tx<'_>, from: &Origin, target: &Target) -> Result<(), InboxError> {
    match from.id {
        Some(id) if !topology::may_write(tx.conn(), id, target.recipient)? => {
            Err(InboxError::NotAllowed {
                from: from.name.clone(),
                to: target.name.clone(),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn admit(tx: &Tx<'_>, limits: Limits, target: &Target) -> Result<(), InboxError> {
    match messages::full(tx, target.recipient, limits.mailbox_rows)? {
        None => Ok(()),
        Some(rows) => Err(InboxError::MailboxFull {
            to: target.name.clone(),
            rows,
        }),
    }
}
