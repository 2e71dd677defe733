//! Sending: the service's half before and after the transaction.

use hive_proto::ids::{AgentId, MessageId};
use hive_proto::limits;
use hive_proto::name::WakeLabel;

use super::deliver;
use super::error::{InboxError, split};
use crate::clock::Clock;
use crate::shutdown::Tasks;
use crate::store::{Recipient, Store};
use crate::topology::Sender;

/// The inbox service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) tasks: Tasks,
    pub(super) limits: Limits,
}

/// What a mailbox takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows that are neither acked nor dead.
    pub mailbox_rows: u32,
    pub body_bytes: usize,
}

/// A message to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    pub body: String,
    /// None: threaded by the broker. 0: a reply to nothing.
    pub in_reply_to: Option<i64>,
    /// Unique for this sender and recipient.
    pub key: Option<String>,
}

/// Whether a send queued anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Novelty {
    New,
    /// The key was seen before: this is the first send's message.
    Duplicate,
}

/// An accepted message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// For `*`, the first one that was accepted.
    pub id: MessageId,
    pub novelty: Novelty,
    pub to: Recipient,
    pub to_name: String,
}

/// What became of a send.
#[derive(Clone, Debug)]
pub enum Delivered {
    One(Sent),
    /// For `*`: one result a recipient.
    All(Vec<(String, Result<Sent, InboxError>)>),
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            mailbox_rows: limits::MAILBOX_ROWS,
            body_bytes: limits::BODY_BYTES,
        }
    }
}

// === impl Delivered ===

impl Delivered {
    /// The first message that was accepted, if any.
    #[must_use]
    pub fn first(&self) -> Option<&Sent> {
        match self {
            Self::One(sent) => Some(sent),
            Self::All(each) => each.iter().find_map(|(_, result)| result.as_ref().ok()),
        }
    }
}

// === impl Inbox ===

impl Inbox {
    #[must_use]
    pub fn new(store: Store, clock: Clock, tasks: Tasks, limits: Limits) -> Self {
        Self {
            store,
            clock,
            tasks,
            limits,
        }
    }

    /// Queues a message; it is on disk when this returns.
    ///
    /// # Errors
    /// A refusal, or the store's failure; nothing was queued then.
    pub async fn send(
        &self,
        from: Sender,
        to: &str,
        outgoing: Outgoing,
    ) -> Result<Delivered, InboxError> {
        let (limits, to) = (self.limits, to.to_owned());
        self.store
            .write(move |tx| split(deliver::send(tx, limits, from, &to, &outgoing)))
            .await?
    }

    /// Queues several messages in one transaction; each is accepted or refused alone.
    ///
    /// # Errors
    /// When there are too many, or the store fails: nothing was queued then.
    pub async fn send_batch(
        &self,
        from: Sender,
        sends: Vec<(String, Outgoing)>,
    ) -> Result<Vec<Result<Delivered, InboxError>>, InboxError> {
        let most = limits::BATCH_SENDS;
        if sends.len() > most {
            let entries = sends.len();
            return Err(InboxError::BatchTooLarge { entries, most });
        }
        let limits = self.limits;
        let results = self
            .store
            .write(move |tx| {
                sends
                    .iter()
                    .map(|(to, outgoing)| split(deliver::send(tx, limits, from, to, outgoing)))
                    .collect()
            })
            .await?;
        Ok(results)
    }

    /// Queues a message from a labelled co-process into the agent's own inbox.
    ///
    /// # Errors
    /// A refusal, or the store's failure; nothing was queued then.
    pub async fn wake(
        &self,
        agent: AgentId,
        label: &str,
        outgoing: Outgoing,
    ) -> Result<Sent, InboxError> {
        let label: WakeLabel = label.parse().map_err(InboxError::Label)?;
        let limits = self.limits;
        self.store
            .write(move |tx| split(deliver::wake(tx, limits, agent, &label, &outgoing)))
            .await?
    }

    /// Queues a notice from `system`, whatever else waits there.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn system(&self, to: Recipient, body: String) -> Result<MessageId, InboxError> {
        let id = self
            .store
            .write(move |tx| crate::settle::post_system(tx, to, &body))
            .await?;
        Ok(id)
    }
}
