//! Why a call about a reminder was refused.

use hive_proto::ids::ReminderId;

use crate::store::StoreError;

/// Why a call about a reminder was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReminderError {
    #[error("the message is empty")]
    Empty,
    #[error("the {what} is {bytes} bytes, the most is {most}")]
    TooLong {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
    #[error("{given:?} is no time")]
    NoTime { given: String },
    /// `now` in RFC 3339.
    #[error("{due} is past: it is {now}")]
    Past { due: String, now: String },
    #[error("{due} is too far away: the most is five years")]
    TooFar { due: String },
    #[error("the key was used for reminder {0}, which has another message")]
    KeyConflict(ReminderId),
    #[error("{pending} reminders of this agent wait, which is the most")]
    TooMany { pending: u32 },
    #[error("there is no agent {0}")]
    NoSuchAgent(String),
    #[error("reminder {0} does not exist")]
    NoSuchReminder(ReminderId),
    #[error(
        "reminder {id} is {agent}'s: only {agent}, a manager above it and the operator can cancel it"
    )]
    NotYours { id: ReminderId, agent: String },
    #[error("reminder {id} is {state}")]
    WrongState { id: ReminderId, state: &'static str },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(
    result: Result<T, ReminderError>,
) -> Result<Result<T, ReminderError>, StoreError> {
    match result {
        Err(ReminderError::Store(failure)) => Err(failure),
        other => Ok(other),
    }
}
