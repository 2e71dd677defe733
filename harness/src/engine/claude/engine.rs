//! `Claude`: one conversation, at most one process, one turn at a time.

use std::time::Duration;

use hive_proto::v1::{FailureClass, Outcome, Usage};
use tokio_util::sync::CancellationToken;

use crate::engine::{Caps, Engine, EngineEnv, EventSink, TurnEnd, TurnInput};

/// Runs turns with the real Claude Code.
#[derive(Debug)]
pub struct Claude {
    env: EngineEnv,
}

// === impl Claude ===

impl Claude {
    /// Starts nothing: the first turn does.
    #[must_use]
    pub fn new(env: EngineEnv) -> Self {
        Self { env }
    }
}

#[async_trait::async_trait]
impl Engine for Claude {
    fn caps(&self) -> Caps {
        Caps {
            long_lived: true,
            compact: true,
            model_calls: true,
        }
    }

    async fn turn(
        &mut self,
        _input: TurnInput,
        _events: EventSink,
        _cancel: CancellationToken,
    ) -> TurnEnd {
        TurnEnd {
            outcome: Outcome::Failed,
            failure: FailureClass::Config,
            detail: "the claude engine is not built in yet".to_owned(),
            until_ms: None,
            usage: Usage::default(),
            model: self.env.config.model.clone(),
        }
    }

    async fn compact(&mut self, events: EventSink, cancel: CancellationToken) -> TurnEnd {
        let _ = (events, cancel);
        TurnEnd {
            outcome: Outcome::Failed,
            failure: FailureClass::Config,
            detail: "the claude engine is not built in yet".to_owned(),
            until_ms: None,
            usage: Usage::default(),
            model: String::new(),
        }
    }

    async fn idle(&mut self) -> Option<Duration> {
        None
    }

    fn configure(&mut self, env: EngineEnv) {
        self.env = env;
    }

    async fn stop(&mut self) {}
}
