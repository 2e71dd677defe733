//! Asking: a request becomes canonical bytes and waits for a person.

use hive_proto::ids::{AgentId, ApprovalId, UnixMs};
use hive_proto::limits::{APPROVAL_EXPIRY_MS, APPROVALS_PENDING, KEY_BYTES, NOTE_CHARS};
use serde_json::Value;

use super::canonical::{canonical, digest};
use super::error::ApprovalError;
use super::kind::Kind;
use crate::store::Tx;
use crate::store::approvals::{self, NewApproval};

/// What an agent asks for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub kind: Kind,
    /// Whom it is about.
    pub agent: AgentId,
    pub requester: AgentId,
    /// What it would change, e.g. `schedule:7`; empty for something new.
    pub subject: &'a str,
    /// What the requester says about it.
    pub description: &'a str,
    /// What runs when it is approved.
    pub payload: &'a Value,
    pub key: Option<&'a str>,
    /// Digest of the request as it came.
    pub asked: &'a str,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub id: ApprovalId,
    pub digest: String,
    pub expires_at: UnixMs,
    /// Whether the same call had been made before.
    pub replayed: bool,
}

/// What a call with this key asked for, if there was one.
///
/// # Errors
/// A key that is too long or was used for something else, the store's failure.
pub(crate) fn replay(
    tx: &Tx<'_>,
    requester: AgentId,
    key: Option<&str>,
    asked: &str,
) -> Result<Option<Asked>, ApprovalError> {
    let Some(key) = key else { return Ok(None) };
    if key.len() > KEY_BYTES {
        return Err(ApprovalError::KeyTooLong {
            bytes: key.len(),
            most: KEY_BYTES,
        });
    }
    let Some((id, before)) = approvals::by_key(tx.conn(), requester, key)? else {
        return Ok(None);
    };
    if before != asked {
        return Err(ApprovalError::KeyConflict(id));
    }
    let row = approvals::find(tx.conn(), id)?.ok_or(ApprovalError::Unknown(id))?;
    Ok(Some(Asked {
        id,
        digest: row.digest,
        expires_at: row.expires_at,
        replayed: true,
    }))
}

/// Stores a request, in the caller's transaction. A replay was looked for before.
///
/// # Errors
/// A refusal, before anything was written; the store's failure.
pub(crate) fn request(tx: &mut Tx<'_>, request: &Request<'_>) -> Result<Asked, ApprovalError> {
    if request.description.chars().count() > NOTE_CHARS {
        return Err(ApprovalError::TooLong {
            what: "description",
            most: NOTE_CHARS,
        });
    }
    let waiting = approvals::pending_of(tx.conn(), request.requester)?.len();
    if waiting >= APPROVALS_PENDING as usize {
        return Err(ApprovalError::TooMany {
            most: APPROVALS_PENDING,
        });
    }
    let payload = canonical(request.payload)?;
    let digest = digest(&payload);
    let expires_at = tx.now().plus_ms(APPROVAL_EXPIRY_MS);
    let new = NewApproval {
        kind: request.kind.word(),
        agent: request.agent,
        requester: request.requester,
        subject: request.subject,
        description: request.description,
        payload: &payload,
        digest: &digest,
        key: request.key,
        asked: request.asked,
        expires_at,
    };
    let id = approvals::insert(tx, &new)?;
    Ok(Asked {
        id,
        digest,
        expires_at,
        replayed: false,
    })
}
