//! What the hive tells an agent's engine of itself: a message from `system` whose body is one JSON
//! object with the key `event`. Notices for people are plain sentences (`settle::post_system`).

use hive_proto::ids::{AgentId, ApprovalId, MessageId};
use serde::Serialize;

use crate::settle;
use crate::store::{Recipient, StoreError, Tx};

/// One such object; the variant's name is the value of `event`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HelperEvent<'a> {
    /// A request of the recipient's, or of an agent below it, came to its end.
    ApprovalResolved {
        id: ApprovalId,
        kind: &'a str,
        requester: &'a str,
        state: &'a str,
        /// Empty when nobody decided.
        decided_by: &'a str,
        note: &'a str,
        /// What was made, or why not.
        result: &'a str,
    },
}

/// Queues it, whatever else waits there.
///
/// # Errors
/// When the row cannot be written.
pub fn post(
    tx: &mut Tx<'_>,
    to: AgentId,
    event: &HelperEvent<'_>,
) -> Result<MessageId, StoreError> {
    let body =
        serde_json::to_string(event).map_err(|error| StoreError::Illegal(error.to_string()))?;
    settle::post_system(tx, Recipient::Agent(to), &body)
}
