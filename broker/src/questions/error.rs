//! Why a call about a question was refused.

use hive_proto::ids::{Epoch, QuestionId, TurnId};
use hive_proto::words;

use crate::store::StoreError;
use crate::store::questions::QuestionRow;
use crate::topology::Unresolved;

/// Why a call about a question was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QuestionError {
    #[error(transparent)]
    Target(#[from] Unresolved),
    #[error("a question goes to one, not to everyone")]
    ToEveryone,
    #[error("an agent cannot ask itself")]
    ToItself,
    /// One of the two is not among those that the operator lists for the other.
    #[error("{from} may not write to {to}")]
    NotAllowed { from: String, to: String },
    #[error("the {0} is empty")]
    Empty(&'static str),
    #[error("the {what} is {bytes} bytes, the most is {most}")]
    TooLong {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
    #[error("there are {count} options, the most is {most}")]
    TooManyOptions { count: usize, most: usize },
    #[error("the option {0:?} is there twice")]
    OptionTwice(String),
    #[error("several can be chosen only where there are options")]
    NothingToChoose,
    #[error("the key was used for question {0}, which is another one")]
    KeyConflict(QuestionId),
    #[error("{open} questions of this agent are open, which is the most")]
    TooManyOpen { open: u32 },
    #[error("the mailbox of {to} holds {rows} messages")]
    MailboxFull { to: String, rows: u32 },
    #[error("question {0} does not exist")]
    NoSuchQuestion(QuestionId),
    #[error("question {id} was put to {target}: only {target} and the operator can answer it")]
    NotTarget { id: QuestionId, target: String },
    #[error(
        "question {id} is {asker}'s: only {asker}, a manager above it and the operator can cancel it"
    )]
    NotAsker { id: QuestionId, asker: String },
    #[error("question {id} is {asker}'s: only {asker} can wait for its answer")]
    NotWaiting { id: QuestionId, asker: String },
    /// Whole sentence: the state, who decided, and when.
    #[error("question {id} is already {how}")]
    AlreadyDecided { id: QuestionId, how: String },
    #[error("epoch {given} is no longer the session's")]
    Stale { given: Epoch },
    #[error("turn {0} is not open")]
    NotOpen(TurnId),
    #[error("hived is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

// === impl QuestionError ===

impl QuestionError {
    /// Somebody was first.
    pub(super) fn decided(row: &QuestionRow) -> Self {
        let at = row.finished_at.unwrap_or(row.asked_at).rfc3339();
        Self::AlreadyDecided {
            id: row.id,
            how: format!(
                "{} by {} at {at}",
                words::question_state(row.state),
                row.answerer
            ),
        }
    }
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(
    result: Result<T, QuestionError>,
) -> Result<Result<T, QuestionError>, StoreError> {
    match result {
        Err(QuestionError::Store(failure) | QuestionError::Target(Unresolved::Store(failure))) => {
            Err(failure)
        }
        other => Ok(other),
    }
}
