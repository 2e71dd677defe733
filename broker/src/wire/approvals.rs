//! Approvals on the wire.

use hive_proto::v1::{self, ApprovalState};

use super::ms;
use crate::approvals::ApprovalRow;
use crate::model::approval::State;

impl From<ApprovalRow> for v1::Approval {
    fn from(row: ApprovalRow) -> Self {
        let blocks = match row.state {
            State::Pending | State::Approved => vec![row.requester_name.clone()],
            State::Done | State::Failed | State::Denied | State::Cancelled | State::Expired => {
                Vec::new()
            }
        };
        Self {
            id: row.id.0,
            kind: row.kind,
            agent: row.agent_name,
            requester: row.requester_name,
            state: state(row.state).into(),
            digest: row.digest,
            payload: row.payload,
            diff: String::new(),
            description: row.description,
            requested_at_ms: row.requested_at.0,
            expires_at_ms: row.expires_at.0,
            decided_at_ms: ms(row.decided_at),
            decided_by: row.decided_by,
            note: row.note,
            result: row.result,
            finished_at_ms: ms(row.finished_at),
            blocks,
        }
    }
}

fn state(state: State) -> ApprovalState {
    match state {
        State::Pending => ApprovalState::Pending,
        State::Approved => ApprovalState::Approved,
        State::Done => ApprovalState::Done,
        State::Failed => ApprovalState::Failed,
        State::Denied => ApprovalState::Denied,
        State::Cancelled => ApprovalState::Cancelled,
        State::Expired => ApprovalState::Expired,
    }
}
