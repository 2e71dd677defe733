//! What a tool is given: the broker, the session, the running turn and the key of the call.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::limits::TOOL_RETRY_SECS;
use hive_proto::v1::Reason;

use super::groups;
use crate::broker::{AgentCalls, Link, Session};
use crate::turn::CurrentTurn;

/// Shared by all tools; cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub calls: AgentCalls,
    pub session: Session,
    pub current: CurrentTurn,
    /// The agent's state directory, where long bodies are spilled.
    pub state: PathBuf,
}

/// What makes a call the same call when it is made again: the engine's own id of the tool use, or
/// the step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKey {
    ToolUse(String),
    Step(String),
    /// The client gave none: a replay cannot be told apart.
    Unknown,
}

// === impl ToolContext ===

impl ToolContext {
    /// Whether the agent has the tool, as far as the broker has said: the broker refuses anyway.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        let given = self.session.given();
        groups::has(tool, given.role, &given.tools)
    }

    /// The idempotency key of a call: (message, tool use). A fresh one where there is neither.
    #[must_use]
    pub fn key(&self, call: &CallKey) -> String {
        let id = match call {
            CallKey::ToolUse(id) | CallKey::Step(id) => id.clone(),
            CallKey::Unknown => uuid::Uuid::new_v4().to_string(),
        };
        match self.current.get() {
            Some(open) => format!("m{}:{id}", open.message),
            None => format!("x:{id}:{}", uuid::Uuid::new_v4()),
        }
    }

    /// The epoch, waiting for the broker to come back as long as a tool call may take.
    ///
    /// # Errors
    /// `unavailable`, or why the session ended for good.
    pub(super) async fn epoch(&self) -> Result<u64, Refusal> {
        let mut link = self.session.link();
        let waiting = link.wait_for(|link| !matches!(link, Link::Away));
        let away = || Refusal::new(Reason::Unavailable, "the broker is away");
        match tokio::time::timeout(Duration::from_secs(TOOL_RETRY_SECS), waiting).await {
            Ok(Ok(link)) => match &*link {
                Link::Attached(opened) => Ok(opened.epoch),
                Link::Ended(why) => Err(why.clone()),
                Link::Away => Err(away()),
            },
            Ok(Err(_)) | Err(_) => Err(away()),
        }
    }
}
