//! Approvals as JSON documents.

use hive_proto::{v1, words};
use serde::Serialize;

use super::super::when;
use super::absent::text;

/// One request and what was decided.
#[derive(Debug, Serialize)]
pub(in super::super) struct Approval {
    id: i64,
    kind: String,
    agent: String,
    requester: String,
    state: &'static str,
    digest: String,
    /// The text that the digest covers; `null` in lists.
    payload: Option<String>,
    diff: Option<String>,
    description: Option<String>,
    requested_at: Option<String>,
    expires_at: Option<String>,
    decided_at: Option<String>,
    decided_by: Option<String>,
    note: Option<String>,
    result: Option<String>,
    finished_at: Option<String>,
    blocks: Vec<String>,
}

// === impl Approval ===

impl From<&v1::Approval> for Approval {
    fn from(approval: &v1::Approval) -> Self {
        Self {
            id: approval.id,
            kind: approval.kind.clone(),
            agent: approval.agent.clone(),
            requester: approval.requester.clone(),
            state: words::approval_state(approval.state()),
            digest: approval.digest.clone(),
            payload: text(&approval.payload),
            diff: text(&approval.diff),
            description: text(&approval.description),
            requested_at: when::json(approval.requested_at_ms),
            expires_at: when::json(approval.expires_at_ms),
            decided_at: when::json(approval.decided_at_ms),
            decided_by: text(&approval.decided_by),
            note: text(&approval.note),
            result: text(&approval.result),
            finished_at: when::json(approval.finished_at_ms),
            blocks: approval.blocks.clone(),
        }
    }
}
