//! Who learns what came of a request: its requester and the agent above it.

use hive_proto::ids::AgentId;

use crate::helper_event::{self, HelperEvent};
use crate::model::approval::State;
use crate::settle;
use crate::store::approvals::{ApprovalRow, Said};
use crate::store::roster::{self, Life};
use crate::store::{Recipient, StoreError, Tx};
use crate::topology;

/// Tells of a final state. The operator learns of a failure, since nobody else may be able to help.
///
/// # Errors
/// When the rows cannot be written.
pub(super) fn tell(
    tx: &mut Tx<'_>,
    row: &ApprovalRow,
    state: State,
    said: Said<'_>,
) -> Result<(), StoreError> {
    let event = HelperEvent::ApprovalResolved {
        id: row.id,
        kind: &row.kind,
        requester: &row.requester_name,
        state: state.word(),
        decided_by: said.by,
        note: said.note,
        result: said.result,
    };
    if is_living(tx, row.requester)? {
        helper_event::post(tx, row.requester, &event)?;
    }
    if let Recipient::Agent(parent) = topology::parent(tx.conn(), row.requester)?.recipient {
        helper_event::post(tx, parent, &event)?;
    }
    if state == State::Failed {
        let body = format!(
            "approval {} ({} of {}) was approved and could not be carried out: {}",
            row.id, row.kind, row.requester_name, said.result
        );
        settle::post_system(tx, Recipient::Operator, &body)?;
    }
    Ok(())
}

fn is_living(tx: &Tx<'_>, agent: AgentId) -> Result<bool, StoreError> {
    let member = roster::member(tx.conn(), agent)?;
    Ok(member.is_some_and(|member| member.life == Life::Living))
}
