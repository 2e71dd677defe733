//! Why there is no list, or nothing was cancelled.

use super::Kind;
use crate::approvals::ApprovalError;
use crate::inbox::InboxError;
use crate::questions::QuestionError;
use crate::reminders::ReminderError;
use crate::schedules::ScheduleError;
use crate::store::StoreError;

/// Why there is no list, or nothing was cancelled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LooseEndError {
    #[error("there is no kind {0:?} of loose end: there are {kinds}", kinds = Kind::words())]
    UnknownKind(String),
    #[error("there is no agent {0}")]
    UnknownAgent(String),
    #[error("only a manager may look at the loose ends of others")]
    NotManager,
    #[error("{0} is not below you")]
    NotBelow(String),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Reminder(#[from] ReminderError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(
    result: Result<T, LooseEndError>,
) -> Result<Result<T, LooseEndError>, StoreError> {
    match result {
        Err(
            LooseEndError::Store(failure)
            | LooseEndError::Question(QuestionError::Store(failure))
            | LooseEndError::Reminder(ReminderError::Store(failure))
            | LooseEndError::Approval(ApprovalError::Store(failure))
            | LooseEndError::Schedule(
                ScheduleError::Store(failure)
                | ScheduleError::Approval(ApprovalError::Store(failure))
                | ScheduleError::Inbox(InboxError::Store(failure)),
            ),
        ) => Err(failure),
        other => Ok(other),
    }
}
