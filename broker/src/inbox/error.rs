//! Why the inbox refused.

use hive_proto::ids::{Epoch, MessageId, TurnId};

use crate::store::StoreError;
use crate::topology::Unresolved;

/// Why a call of the inbox was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InboxError {
    #[error(transparent)]
    Recipient(#[from] Unresolved),
    /// Of a wake label: malformed or reserved.
    #[error(transparent)]
    Label(hive_proto::name::NameError),
    #[error("{0} is an agent's name")]
    LabelIsAgent(String),
    #[error("the body is {bytes} bytes, the most is {most}")]
    BodyTooLarge { bytes: usize, most: usize },
    #[error("the body is empty")]
    EmptyBody,
    #[error("the idempotency key is {bytes} bytes, the most is {most}")]
    KeyTooLong { bytes: usize, most: usize },
    #[error("the key was used for message {0}, which has another body")]
    KeyConflict(MessageId),
    #[error("the mailbox of {to} holds {rows} messages")]
    MailboxFull { to: String, rows: u32 },
    /// The recipient is not among those that the operator lists for the sender.
    #[error("{from} may not write to {to}")]
    NotAllowed { from: String, to: String },
    #[error("message {0} does not exist")]
    NoSuchMessage(MessageId),
    #[error("message {0} is neither to nor from this agent")]
    NotYours(MessageId),
    #[error("the batch has {entries} entries, the most is {most}")]
    BatchTooLarge { entries: usize, most: usize },
    #[error("message {0} is not dead")]
    NotDead(MessageId),
    #[error("message {0} cannot be put back: {1} was purged")]
    RecipientPurged(MessageId, String),
    /// The session was fenced.
    #[error("epoch {given} is no longer the session's")]
    Stale { given: Epoch },
    #[error("turn {0} is not open")]
    NotOpen(TurnId),
    #[error("hived is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(result: Result<T, InboxError>) -> Result<Result<T, InboxError>, StoreError> {
    match result {
        Err(InboxError::Store(failure) | InboxError::Recipient(Unresolved::Store(failure))) => {
            Err(failure)
        }
        other => Ok(other),
    }
}
