//! The seam to what runs a turn: `claude` or `scripted`.

pub mod claude;
pub mod install;
pub mod installed;
mod scripted;
mod workshop;

use std::path::PathBuf;
use std::sync::Arc;

use hive_proto::ids::{MessageId, TurnId};
use hive_proto::v1::{FailureClass, Outcome, Usage};
use tokio_util::sync::CancellationToken;

pub use scripted::Scripted;
pub use workshop::Workshop;

/// What an engine can do; the harness asks this instead of the engine's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Keeps a process between turns.
    pub long_lived: bool,
    /// Can shrink its own context.
    pub compact: bool,
    /// Talks to a model, so that it needs the gateway and can be rate-limited.
    pub model_calls: bool,
}

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

/// Where an engine finds what the harness offers it.
#[derive(Clone, Debug)]
pub struct EngineEnv {
    /// Working directory of the engine: `/state` in a container.
    pub state: PathBuf,
    /// `HOME` of the engine.
    pub home: PathBuf,
    /// The harness's own files.
    pub harness: PathBuf,
    /// The engine's own writable run files (system prompt, MCP configuration): `/run/hive-agent`.
    pub run: PathBuf,
    /// Installed engines: `/opt/hive/engines`.
    pub engines: PathBuf,
    /// `http://127.0.0.1:<port>` of the forwarder to the gateway.
    pub gateway_url: String,
    /// MCP endpoint `http://127.0.0.1:<port>/mcp`.
    pub mcp_url: String,
    /// Bearer token of the MCP endpoint.
    pub mcp_token: String,
    /// hive's system prompt with the agent's role, rendered.
    pub system_prompt: String,
    pub config: hive_proto::v1::EngineConfig,
}

/// Receives engine events; must not block.
pub type EventSink = Arc<dyn Fn(EngineEvent) + Send + Sync>;

/// What runs turns, one at a time.
#[async_trait::async_trait]
pub trait Engine: Send {
    fn caps(&self) -> Caps;

    /// Runs one turn, starting the engine's process if none is kept. `cancel` interrupts it: it
    /// returns `Interrupted` soon after, and the caller decides what that means. Never panics and
    /// never returns early with work of the turn still running.
    async fn turn(
        &mut self,
        input: TurnInput,
        events: EventSink,
        cancel: CancellationToken,
    ) -> TurnEnd;

    /// Shrinks the context, where [`Caps::compact`]; ends with `Compacted` or a failure.
    async fn compact(&mut self, events: EventSink, cancel: CancellationToken) -> TurnEnd;

    /// Called when no turn runs: lets go of a process that has idled too long. Returns how long
    /// until it wants to be called again; `None` when nothing is kept.
    async fn idle(&mut self) -> Option<std::time::Duration>;

    /// What the next turn runs with. A process that was started with something else is replaced
    /// then, never in the middle of a turn.
    fn configure(&mut self, env: EngineEnv);

    /// Forgets the conversation: the next turn begins a new one. Nothing to do for an engine that
    /// remembers nothing.
    async fn new_session(&mut self) {}

    /// The process that is kept between turns; every other descendant is ended after a turn.
    fn kept(&self) -> Option<u32> {
        None
    }

    /// Ends everything that the engine keeps, within a bounded time.
    async fn stop(&mut self);
}
