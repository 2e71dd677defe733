//! Why a call on schedules was refused.

use hive_proto::ids::ScheduleId;
use hive_proto::name::NameError;

use crate::approvals::ApprovalError;
use crate::inbox::InboxError;
use crate::model::schedule::{State, TimingFault};
use crate::store::StoreError;

/// Why a call on schedules was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ScheduleError {
    #[error("schedule {0} does not exist")]
    Unknown(ScheduleId),
    #[error("schedule {id} is neither this agent's nor of an agent below it: it is {owner}'s")]
    NotInSubtree { id: ScheduleId, owner: String },
    #[error("schedule {id} is {state}", state = state.word())]
    NotActive { id: ScheduleId, state: State },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{0:?} is no agent: a target is an agent's name")]
    NoTarget(String),
    #[error("there is no agent {0}")]
    UnknownTarget(String),
    #[error("this agent may not write to {0}")]
    OutOfReach(String),
    #[error("no target is given")]
    NoTargets,
    #[error("{given} targets are given, the most is {most}")]
    TooManyTargets { given: usize, most: usize },
    #[error("{name} is no target of schedule {id}")]
    NotATarget { id: ScheduleId, name: String },
    #[error("the body is empty")]
    EmptyBody,
    #[error("the body is {bytes} bytes, the most is {most}")]
    BodyTooLarge { bytes: usize, most: usize },
    #[error("the description is longer than {most} characters")]
    DescriptionTooLong { most: usize },
    #[error(transparent)]
    Timing(#[from] TimingFault),
    #[error("nothing is to be changed")]
    NothingToChange,
    #[error("there are {most} active schedules of {owner} already")]
    TooMany { owner: String, most: u32 },
    #[error("the agent of this socket was removed")]
    Gone,
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Inbox(InboxError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(
    result: Result<T, ScheduleError>,
) -> Result<Result<T, ScheduleError>, StoreError> {
    match result {
        Err(
            ScheduleError::Store(failure)
            | ScheduleError::Approval(ApprovalError::Store(failure))
            | ScheduleError::Inbox(InboxError::Store(failure)),
        ) => Err(failure),
        other => Ok(other),
    }
}
