//! Deciding: once, on the bytes that were shown, by a person; and what ends a request without one.

use hive_proto::ids::{AgentId, ApprovalId};
use hive_proto::limits::NOTE_CHARS;

use super::error::ApprovalError;
use super::kind::Kind;
use super::tell::tell;
use crate::model::approval::{Event, State, next};
use crate::store::approvals::{self, ApprovalRow, Said};
use crate::store::{StoreError, Tx, intents, roster};
use crate::topology;

/// A person's yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

/// Who decides and on what.
#[derive(Clone, Debug)]
pub struct By {
    /// `uid 0`: from the socket, never from the request.
    pub who: String,
    /// The digest that was shown; empty: not said.
    pub digest: String,
    pub note: String,
}

/// Decides, and records the effect of a yes in the same transaction.
///
/// # Errors
/// A refusal; the store's failure.
pub(super) fn decide(
    tx: &mut Tx<'_>,
    id: ApprovalId,
    decision: Decision,
    by: &By,
) -> Result<(), ApprovalError> {
    if by.note.chars().count() > NOTE_CHARS {
        return Err(ApprovalError::TooLong {
            what: "note",
            most: NOTE_CHARS,
        });
    }
    let row = approvals::find(tx.conn(), id)?.ok_or(ApprovalError::Unknown(id))?;
    still_open(&row)?;
    if row.orphaned {
        let why = withdraw(tx, &row, GONE)?;
        return Err(ApprovalError::Cancelled { id, why });
    }
    if row.expires_at <= tx.now() {
        expire(tx, &row)?;
        return Err(ApprovalError::Expired(id));
    }
    if !by.digest.is_empty() && !by.digest.eq_ignore_ascii_case(&row.digest) {
        let digest = row.digest;
        return Err(ApprovalError::DigestMismatch { id, digest });
    }
    let said = Said {
        by: &by.who,
        note: &by.note,
        result: "",
    };
    match decision {
        Decision::Approve => {
            advance(tx, &row, Event::Approved, said)?;
            Ok(intents::insert(tx, id, effect_of(&row)?)?)
        }
        Decision::Deny => {
            let state = advance(tx, &row, Event::Denied, said)?;
            Ok(tell(tx, &row, state, said)?)
        }
    }
}

/// Why a pending request of a purged agent ends.
const GONE: &str = "its requester was purged";

/// Ends a request whose time is over or whose requester is gone for good; says how.
///
/// # Errors
/// `Conflict` when it is not pending any more.
pub(super) fn lapse(tx: &mut Tx<'_>, row: &ApprovalRow) -> Result<State, StoreError> {
    if row.orphaned {
        withdraw(tx, row, GONE)?;
        return Ok(State::Cancelled);
    }
    expire(tx, row)?;
    Ok(State::Expired)
}

/// Its requester, or a manager above it, takes it back. The same once more is the same as once: a
/// call is made again when its reply was lost.
///
/// # Errors
/// A refusal; the store's failure.
pub(crate) fn take_back(tx: &mut Tx<'_>, by: AgentId, id: ApprovalId) -> Result<(), ApprovalError> {
    let row = approvals::find(tx.conn(), id)?.ok_or(ApprovalError::Unknown(id))?;
    if by != row.requester && !topology::manages(tx.conn(), by, row.requester)? {
        let requester = row.requester_name;
        return Err(ApprovalError::NotYours { id, requester });
    }
    let name = roster::member(tx.conn(), by)?.map_or_else(String::new, |member| member.name);
    let why = format!("taken back by {name}");
    if row.state == State::Cancelled && row.result == why {
        return Ok(());
    }
    still_open(&row)?;
    withdraw(tx, &row, &why)?;
    Ok(())
}

/// Cancels what waits to change a subject that is changed otherwise or is no more.
///
/// # Errors
/// When the rows cannot be written.
pub(crate) fn withdraw_on(tx: &mut Tx<'_>, subject: &str, why: &str) -> Result<(), StoreError> {
    for row in approvals::pending_on(tx.conn(), subject)? {
        withdraw(tx, &row, why)?;
    }
    Ok(())
}

/// Cancels what a purged agent still asks for.
///
/// # Errors
/// When the rows cannot be written.
pub(crate) fn withdraw_of(tx: &mut Tx<'_>, requester: AgentId) -> Result<(), StoreError> {
    for row in approvals::pending_of(tx.conn(), requester)? {
        withdraw(tx, &row, GONE)?;
    }
    Ok(())
}

fn withdraw(tx: &mut Tx<'_>, row: &ApprovalRow, why: &str) -> Result<String, StoreError> {
    let said = Said {
        result: why,
        ..Said::default()
    };
    let state = advance(tx, row, Event::Withdrawn, said)?;
    tell(tx, row, state, said)?;
    Ok(why.to_owned())
}

fn expire(tx: &mut Tx<'_>, row: &ApprovalRow) -> Result<(), StoreError> {
    let said = Said {
        result: "nobody decided in time",
        ..Said::default()
    };
    let state = advance(tx, row, Event::TimedOut, said)?;
    tell(tx, row, state, said)
}

/// Asks the lifecycle and makes the change.
///
/// # Errors
/// `Conflict` when the row is in another state; `Illegal` when the event cannot happen.
pub(super) fn advance(
    tx: &mut Tx<'_>,
    row: &ApprovalRow,
    event: Event,
    said: Said<'_>,
) -> Result<State, StoreError> {
    let after =
        next(row.state, event).map_err(|illegal| StoreError::Illegal(illegal.to_string()))?;
    approvals::advance(tx, row, after, said)?;
    Ok(after)
}

fn still_open(row: &ApprovalRow) -> Result<(), ApprovalError> {
    let id = row.id;
    let decided = |how| ApprovalError::AlreadyDecided {
        id,
        how,
        by: row.decided_by.clone(),
        at: row.decided_at.unwrap_or(row.requested_at),
    };
    match row.state {
        State::Pending => Ok(()),
        State::Approved | State::Done | State::Failed => Err(decided(State::Approved)),
        State::Denied => Err(decided(State::Denied)),
        State::Expired => Err(ApprovalError::Expired(id)),
        State::Cancelled => Err(ApprovalError::Cancelled {
            id,
            why: row.result.clone(),
        }),
    }
}

fn effect_of(row: &ApprovalRow) -> Result<&'static str, StoreError> {
    Kind::parse(&row.kind)
        .map(Kind::word)
        .ok_or_else(|| StoreError::Illegal(format!("approval {} is of no known kind", row.id)))
}
