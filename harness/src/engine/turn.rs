//! One turn as every engine sees it: what goes in, what happens meanwhile, how it ended.

use std::sync::Arc;

use hive_proto::ids::{MessageId, TurnId};
use hive_proto::v1::{FailureClass, Outcome, Usage};

/// One turn's input.
#[derive(Clone, Debug)]
pub struct TurnInput {
    pub turn: TurnId,
    /// The popped message.
    pub message: MessageId,
    pub from: String,
    /// The message that this one answers.
    pub in_reply_to: Option<MessageId>,
    /// The message's own body, unspilled.
    pub body: String,
    /// Earlier deliveries of this message did not end in an ack.
    pub redelivered: bool,
    /// The wake prompt made from all of this.
    pub prompt: String,
}

/// What happens during a turn, for the log and the live terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineEvent {
    SessionStarted {
        session: String,
        model: String,
    },
    Text(String),
    ToolStart {
        id: String,
        name: String,
    },
    ToolEnd {
        id: String,
        ok: bool,
    },
    Retry {
        attempt: u32,
        why: String,
    },
    Compacting,
    Compacted,
    Notice(String),
    /// A line that this version does not know, kept as it came (at most 16 MiB).
    Raw(String),
}

/// Receives engine events; must not block.
pub type EventSink = Arc<dyn Fn(EngineEvent) + Send + Sync>;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    pub outcome: Outcome,
    /// Set when the outcome is `Failed`.
    pub failure: FailureClass,
    /// One sentence for people; empty when all went well.
    pub detail: String,
    /// When a park ends (Unix milliseconds), where the engine was told.
    pub until_ms: Option<i64>,
    pub usage: Usage,
    /// The model that answered; empty when none did.
    pub model: String,
}
