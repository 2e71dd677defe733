//! Makes the engine that an agent's configuration names.

use hive_proto::v1::{EngineConfig, FailureClass, Outcome, Usage};
use tokio_util::sync::CancellationToken;

use super::claude::Claude;
use super::scripted::Scripted;
use super::{Caps, Engine, EngineEnv, EventSink, TurnEnd, TurnInput};
use crate::broker::Opened;
use crate::tools::ToolContext;
use crate::turn::{Identity, render};

/// Everything an engine can be made of.
#[derive(Clone, Debug)]
pub struct Workshop {
    env: EngineEnv,
    tools: ToolContext,
    identity: Identity,
}

/// Stands in for an engine that this build does not have: every turn fails for good.
struct Unknown {
    name: String,
}

// === impl Workshop ===

impl Workshop {
    /// `env` and `identity` without what only the broker knows.
    #[must_use]
    pub fn new(env: EngineEnv, tools: ToolContext, identity: Identity) -> Self {
        Self {
            env,
            tools,
            identity,
        }
    }

    #[must_use]
    pub fn env(&self) -> &EngineEnv {
        &self.env
    }

    /// The environment with what the broker said at the attach.
    #[must_use]
    pub fn env_for(&self, opened: &Opened) -> EngineEnv {
        let identity = Identity {
            name: opened.name.clone(),
            role: opened.role,
            parent: opened.parent.clone(),
            ..self.identity.clone()
        };
        let config: EngineConfig = opened.engine.clone();
        EngineEnv {
            system_prompt: render(&identity, &config.role_prompt),
            config,
            tools: opened.tools.clone(),
            ..self.env.clone()
        }
    }

    /// The engine that the broker named.
    #[must_use]
    pub fn make(&self, opened: &Opened) -> Box<dyn Engine> {
        let env = self.env_for(opened);
        match opened.engine.engine.as_str() {
            "claude" => Box::new(Claude::new(env)),
            "scripted" => Box::new(Scripted::new(env, opened.name.clone(), self.tools.clone())),
            name => Box::new(Unknown {
                name: name.to_owned(),
            }),
        }
    }
}

// === impl Unknown ===

impl Unknown {
    fn end(&self) -> TurnEnd {
        TurnEnd {
            outcome: Outcome::Failed,
            failure: FailureClass::Config,
            detail: format!("this hive has no engine {:?}", self.name),
            until_ms: None,
            usage: Usage::default(),
            model: String::new(),
        }
    }
}

#[async_trait::async_trait]
impl Engine for Unknown {
    fn caps(&self) -> Caps {
        Caps {
            long_lived: false,
            compact: false,
            model_calls: false,
        }
    }

    async fn turn(&mut self, _: TurnInput, _: EventSink, _: CancellationToken) -> TurnEnd {
        self.end()
    }

    async fn compact(&mut self, _: EventSink, _: CancellationToken) -> TurnEnd {
        self.end()
    }

    async fn idle(&mut self) -> Option<std::time::Duration> {
        None
    }

    fn configure(&mut self, env: EngineEnv) {
        self.name = env.config.engine;
    }

    async fn stop(&mut self) {}
}
