//! The seam to what runs a turn.

use tokio_util::sync::CancellationToken;

use super::{EngineEnv, EventSink, TurnEnd, TurnInput};

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
