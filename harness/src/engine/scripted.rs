//! The engine `scripted`: plays rules instead of asking a model, so that a hive can be rehearsed.

use hive_proto::v1::{FailureClass, Outcome, Usage};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Caps, Engine, EngineEnv, EngineEvent, EventSink, TurnEnd, TurnInput};
use crate::tools::{self, CallKey, ToolContext};

/// Senders that nobody can answer.
const MUTE: [&str; 3] = ["system", "self", "reminder"];

/// Plays rules.
pub struct Scripted {
    env: EngineEnv,
    agent: String,
    tools: ToolContext,
}

// === impl Scripted ===

impl Scripted {
    #[must_use]
    pub fn new(env: EngineEnv, agent: String, tools: ToolContext) -> Self {
        Self { env, agent, tools }
    }

    /// What it does when no rule matches: tells the sender that this is a rehearsal. A reply is not
    /// answered, or two agents would do so for ever.
    async fn acknowledge(&self, input: &TurnInput, events: &EventSink) -> TurnEnd {
        if MUTE.contains(&input.from.as_str()) || input.in_reply_to.is_some() {
            return ended(Outcome::Ok, FailureClass::Unspecified, "");
        }
        let first = input.body.lines().next().unwrap_or_default();
        let quoted: String = first.chars().take(80).collect();
        let arguments = json!({
            "to": input.from,
            "body": format!("{} is rehearsing without a model. It got: {quoted}", self.agent),
        });
        events(EngineEvent::ToolStart {
            id: "default".to_owned(),
            name: "send".to_owned(),
        });
        let key = CallKey::Step("default".to_owned());
        // A labelled program of the container is no recipient: the refusal is expected.
        let sent = tools::call("send", self.tools.clone(), key, arguments).await;
        events(EngineEvent::ToolEnd {
            id: "default".to_owned(),
            ok: sent.is_ok(),
        });
        ended(Outcome::Ok, FailureClass::Unspecified, "")
    }
}

#[async_trait::async_trait]
impl Engine for Scripted {
    fn caps(&self) -> Caps {
        Caps {
            long_lived: false,
            compact: false,
            model_calls: false,
        }
    }

    async fn turn(
        &mut self,
        input: TurnInput,
        events: EventSink,
        cancel: CancellationToken,
    ) -> TurnEnd {
        tokio::select! {
            end = self.acknowledge(&input, &events) => end,
            () = cancel.cancelled() => {
                ended(Outcome::Interrupted, FailureClass::Unspecified, "interrupted")
            }
        }
    }

    async fn compact(&mut self, _: EventSink, _: CancellationToken) -> TurnEnd {
        ended(Outcome::Ok, FailureClass::Unspecified, "")
    }

    async fn idle(&mut self) -> Option<std::time::Duration> {
        None
    }

    fn configure(&mut self, env: EngineEnv) {
        self.env = env;
    }

    async fn stop(&mut self) {}
}

fn ended(outcome: Outcome, failure: FailureClass, detail: &str) -> TurnEnd {
    TurnEnd {
        outcome,
        failure,
        detail: detail.to_owned(),
        until_ms: None,
        usage: Usage::default(),
        model: "scripted".to_owned(),
    }
}
