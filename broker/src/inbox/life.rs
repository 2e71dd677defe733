//! Looking at mailboxes and messages, and the operator's own acts on them.

use hive_proto::ids::{MessageId, UnixMs};
use hive_proto::name::{AgentName, NameError};

use super::error::{InboxError, split};
use super::send::Inbox;
use crate::model::concern::Concern;
use crate::store::agents;
use crate::store::events::{self, EventRow};
use crate::store::messages::{self, Listing, MessageRow};
use crate::store::roster;
use crate::store::turns::{self, TurnRow};
use crate::store::{Conn, Recipient, StoreError};
use crate::topology::Unresolved;

/// A message with everything that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    pub message: MessageRow,
    /// Oldest first.
    pub events: Vec<EventRow>,
    /// Oldest first; all of the recipient.
    pub turns: Vec<TurnRow>,
    /// Messages that reply to it, oldest first.
    pub replies: Vec<MessageRow>,
}

// === impl Life ===

impl Life {
    /// Whether its recipient has sent an answer back to its sender. A message to somebody else that
    /// merely names it is none: a manager that delegates has not answered yet.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let (asked, from) = (self.message.to, &self.message.from);
        self.replies.iter().any(|reply| {
            Some(reply.to_name.as_str()) == Some(from.as_str())
                && match asked {
                    Recipient::Agent(id) => reply.from_id == Some(id),
                    Recipient::Operator => reply.from_id.is_none(),
                }
        })
    }
}

/// Whose mailbox is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mailbox {
    Of(Recipient),
    /// Of a living agent.
    Named(String),
}

/// One thing that waits for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub kind: WaitingKind,
    /// The agent that it is about, or that sent it; empty for none.
    pub agent: String,
    /// The message; 0 for none.
    pub id: MessageId,
    pub since: UnixMs,
    pub text: String,
}

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingKind {
    Message,
    Dead,
    Stalled,
}

/// Rows of a listing when none are asked for, and at the most.
const LIST_ROWS: (u32, u32) = (50, 500);

// === impl WaitingKind ===

impl WaitingKind {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Message => Concern::Message.word(),
            Self::Dead => Concern::Dead.word(),
            Self::Stalled => Concern::Stalled.word(),
        }
    }
}

// === impl Inbox ===

impl Inbox {
    /// The newest rows of a mailbox, newest last; 0 is taken as 50, capped at 500.
    ///
    /// # Errors
    /// An unknown agent, the store's failure.
    pub async fn list(
        &self,
        mailbox: Mailbox,
        listing: Listing,
        limit: u32,
    ) -> Result<Vec<MessageRow>, InboxError> {
        let limit = match limit {
            0 => LIST_ROWS.0,
            some => some.min(LIST_ROWS.1),
        };
        self.store
            .read(move |conn| {
                split(
                    owner(conn, mailbox)
                        .and_then(|owner| Ok(messages::inbox(conn, owner, listing, limit)?)),
                )
            })
            .await?
    }

    /// A message with its whole life.
    ///
    /// # Errors
    /// When it does not exist, the store's failure.
    pub async fn life(&self, id: MessageId) -> Result<Life, InboxError> {
        self.store.read(move |conn| split(life(conn, id))).await?
    }

    /// Marks mail of the operator as read; says how many were unread.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn mark_read(&self, ids: Vec<MessageId>) -> Result<u32, InboxError> {
        let marked = self
            .store
            .write(move |tx| {
                let mut marked = 0;
                for id in ids {
                    let Some(row) = messages::fate(tx.conn(), id)? else {
                        continue;
                    };
                    match messages::mark_read(tx, &row) {
                        Ok(()) => marked += 1,
                        // Read already, or not the operator's.
                        Err(StoreError::Conflict { .. }) => {}
                        Err(failure) => return Err(failure),
                    }
                }
                Ok(marked)
            })
            .await?;
        Ok(marked)
    }

    /// The dead letters, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn dead(&self) -> Result<Vec<MessageRow>, InboxError> {
        Ok(self.store.read(messages::dead).await?)
    }

    /// Puts a dead message back at its place, its deaths forgotten.
    ///
    /// # Errors
    /// When it does not exist, is not dead or is for a purged agent, the store's failure.
    pub async fn requeue_dead(&self, id: MessageId) -> Result<Life, InboxError> {
        let revived: Result<(), InboxError> = self
            .store
            .write(move |tx| {
                let Some(row) = messages::fate(tx.conn(), id)? else {
                    return Ok(Err(InboxError::NoSuchMessage(id)));
                };
                if let Some(name) = purged(tx.conn(), row.to)? {
                    return Ok(Err(InboxError::RecipientPurged(id, name)));
                }
                match messages::revive(tx, &row) {
                    Ok(()) => Ok(Ok(())),
                    Err(StoreError::Conflict { .. }) => Ok(Err(InboxError::NotDead(id))),
                    Err(failure) => Err(failure),
                }
            })
            .await?;
        revived?;
        self.life(id).await
    }

    /// Messages that wait for the operator, dead ones, and agents with stalled mail.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn waiting(&self) -> Result<Vec<Waiting>, InboxError> {
        Ok(self.store.read(waiting).await?)
    }
}

pub(super) fn life(conn: &Conn, id: MessageId) -> Result<Life, InboxError> {
    let message = messages::find(conn, id)?.ok_or(InboxError::NoSuchMessage(id))?;
    Ok(Life {
        message,
        events: events::of_message(conn, id)?,
        turns: turns::of_message(conn, id)?,
        replies: messages::replies(conn, id)?,
    })
}

/// The name of a recipient that is gone for good.
fn purged(conn: &Conn, to: Recipient) -> Result<Option<String>, StoreError> {
    let Recipient::Agent(id) = to else {
        return Ok(None);
    };
    let row = agents::get(conn, id)?.filter(|row| row.purged);
    Ok(row.map(|row| row.name.to_string()))
}

fn owner(conn: &Conn, mailbox: Mailbox) -> Result<Recipient, InboxError> {
    let name = match mailbox {
        Mailbox::Of(recipient) => return Ok(recipient),
        Mailbox::Named(name) => name,
    };
    let name: AgentName = name
        .parse()
        .map_err(|error: NameError| InboxError::Recipient(error.into()))?;
    let member =
        roster::named(conn, &name)?.ok_or_else(|| Unresolved::UnknownAgent(name.to_string()))?;
    Ok(Recipient::Agent(member.id))
}

fn waiting(conn: &Conn) -> Result<Vec<Waiting>, StoreError> {
    let mut all = Vec::new();
    for row in messages::inbox(conn, Recipient::Operator, Listing::Unfinished, LIST_ROWS.1)? {
        all.push(Waiting {
            kind: WaitingKind::Message,
            text: format!("unread message from {}", row.from),
            agent: row.from,
            id: row.id,
            since: row.queued_at,
        });
    }
    for row in messages::dead_to_requeue(conn)? {
        all.push(Waiting {
            kind: WaitingKind::Dead,
            text: format!("message from {} is dead: {}", row.from, row.result),
            agent: row.to_name,
            id: row.id,
            since: row.finished_at.unwrap_or(row.queued_at),
        });
    }
    for (agent, unread) in messages::unread_counts(conn)? {
        let (Some(since), Some(member)) = (unread.stalled_since, roster::member(conn, agent)?)
        else {
            continue;
        };
        all.push(Waiting {
            kind: WaitingKind::Stalled,
            text: format!(
                "{} has {} messages and takes none",
                member.name, unread.queued
            ),
            agent: member.name,
            id: MessageId(0),
            since,
        });
    }
    all.sort_by_key(|item| item.since);
    Ok(all)
}
