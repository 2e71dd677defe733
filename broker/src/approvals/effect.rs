//! Carrying out what was approved: exactly the bytes that were shown, once.
//!
//! An effect that is rows of this database shares one transaction with the end of its intent, so a
//! crash leaves either all of it or nothing.

use hive_proto::ids::ApprovalId;

use super::canonical::digest;
use super::decide::advance;
use super::kind::Kind;
use super::tell::tell;
use crate::model::approval::{Carried, Event, State};
use crate::schedules;
use crate::store::approvals::{self, ApprovalRow, Said};
use crate::store::intents::{self, IntentRow};
use crate::store::{StoreError, Tx};

/// Why an effect cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotDone {
    /// For good: trying again changes nothing.
    #[error("{0}")]
    Refused(String),
    /// Perhaps next time.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What one try came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrying {
    Done,
    Failed,
    /// It was closed before.
    Nothing,
}

/// Carries out one intent.
///
/// # Errors
/// The store's failure: nothing of it happened, and it is tried again.
pub(super) fn carry(tx: &mut Tx<'_>, intent: &IntentRow) -> Result<Carrying, StoreError> {
    let id = intent.approval;
    let Some(row) = approvals::find(tx.conn(), id)? else {
        return Err(StoreError::NotFound(format!("approval {id}")));
    };
    if row.state != State::Approved {
        return Ok(Carrying::Nothing);
    }
    // Every check of an effect comes before its first write: a refused one has changed nothing.
    let (carried, result) = match perform(tx, &row) {
        Ok(result) => (Carried::Done, result),
        Err(NotDone::Refused(why)) => (Carried::Failed, why),
        Err(NotDone::Store(failure)) => return Err(failure),
    };
    let error = match carried {
        Carried::Done => "",
        Carried::Failed => &result,
    };
    intents::finish(tx, intent, carried, error)?;
    let said = Said {
        by: &row.decided_by,
        note: &row.note,
        result: &result,
    };
    let state = advance(tx, &row, Event::Carried(carried), said)?;
    tell(tx, &row, state, said)?;
    Ok(match carried {
        Carried::Done => Carrying::Done,
        Carried::Failed => Carrying::Failed,
    })
}

fn perform(tx: &mut Tx<'_>, row: &ApprovalRow) -> Result<String, NotDone> {
    checked(row.id, &row.payload, &row.digest)?;
    if row.orphaned {
        return Err(NotDone::Refused("its requester was purged".into()));
    }
    match Kind::parse(&row.kind) {
        Some(Kind::SchedulePrompt) => schedules::carry_out(tx, row),
        None => Err(NotDone::Refused(format!(
            "the kind {} is not known",
            row.kind
        ))),
    }
}

/// What runs is what was shown: the bytes are hashed again where they take effect.
fn checked(id: ApprovalId, payload: &str, expected: &str) -> Result<(), NotDone> {
    if digest(payload) == expected {
        return Ok(());
    }
    tracing::error!(approval.id = %id, "the stored request is not the one that was approved");
    Err(NotDone::Refused(
        "the stored request is not the one that was shown".into(),
    ))
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::ApprovalId;

    use super::{NotDone, checked};
    use crate::approvals::digest;

    #[test]
    fn changed_bytes_never_run() {
        let (shown, other) = (r#"{"body":"a"}"#, r#"{"body":"b"}"#);
        assert!(checked(ApprovalId(1), shown, &digest(shown)).is_ok());
        let changed = checked(ApprovalId(1), other, &digest(shown));
        assert!(matches!(changed, Err(NotDone::Refused(_))), "{changed:?}");
    }
}
