//! Why an approval was not made or decided.

use hive_proto::ids::{ApprovalId, UnixMs};

use super::canonical::NotCanonical;
use crate::model::approval::State;
use crate::store::StoreError;

/// Why a call on approvals was refused or failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error("approval {0} does not exist")]
    Unknown(ApprovalId),
    #[error("approval {id} was already {how} by {by} at {at}", how = how.word(), at = at.rfc3339())]
    AlreadyDecided {
        id: ApprovalId,
        /// `Approved` or `Denied`, whatever came of it since.
        how: State,
        by: String,
        at: UnixMs,
    },
    #[error("approval {0} expired before anybody decided")]
    Expired(ApprovalId),
    #[error("approval {id} was cancelled: {why}")]
    Cancelled { id: ApprovalId, why: String },
    #[error("approval {id} has the digest {digest}")]
    DigestMismatch { id: ApprovalId, digest: String },
    #[error("the {what} is longer than {most} characters")]
    TooLong { what: &'static str, most: usize },
    #[error("{most} requests of this agent wait already")]
    TooMany { most: u32 },
    #[error("the idempotency key is {bytes} bytes, the most is {most}")]
    KeyTooLong { bytes: usize, most: usize },
    #[error("the key was used for approval {0}, which asks for something else")]
    KeyConflict(ApprovalId),
    #[error(
        "approval {id} is neither this agent's nor of an agent below it: {requester} asked for it"
    )]
    NotYours { id: ApprovalId, requester: String },
    #[error(transparent)]
    NotCanonical(#[from] NotCanonical),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells a refusal, which the caller learns of, from a failure, which rolls the transaction back.
///
/// # Errors
/// The store's failure.
pub(super) fn split<T>(
    result: Result<T, ApprovalError>,
) -> Result<Result<T, ApprovalError>, StoreError> {
    match result {
        Err(ApprovalError::Store(failure)) => Err(failure),
        other => Ok(other),
    }
}
