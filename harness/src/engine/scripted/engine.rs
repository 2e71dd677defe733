//! Finds the rule that answers a message; without one, tells the sender that this is a rehearsal.

use std::sync::{Arc, Mutex, PoisonError};

use hive_proto::script::{Faults, Incoming, Script, Seen};
use hive_proto::v1::{FailureClass, Outcome, Usage};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::play::{self, Stage};
use crate::engine::{Caps, Engine, EngineEnv, EngineEvent, EventSink, TurnEnd, TurnInput};
use crate::tools::{self, CallKey, ToolContext};

/// Senders that nobody can answer.
const MUTE: [&str; 3] = ["system", "self", "reminder"];

/// Plays rules.
pub struct Scripted {
    env: EngineEnv,
    agent: String,
    tools: ToolContext,
    script: Result<Script, Faults>,
    seen: Arc<Mutex<Seen>>,
}

// === impl Scripted ===

impl Scripted {
    /// Reads the script of `env`; a faulty one makes every turn fail with its faults.
    #[must_use]
    pub fn new(env: EngineEnv, agent: String, tools: ToolContext) -> Self {
        Self {
            script: Script::parse(&env.config.script),
            env,
            agent,
            tools,
            seen: Arc::default(),
        }
    }

    async fn answer(&self, input: &TurnInput, events: &EventSink) -> TurnEnd {
        let script = match &self.script {
            Ok(script) => script,
            Err(faults) => {
                let why = format!("the script is faulty: {faults}");
                return ended(Outcome::Failed, FailureClass::Config, &why);
            }
        };
        let incoming = Incoming {
            agent: self.agent.clone(),
            from: input.from.clone(),
            id: input.message.0,
            body: input.body.clone(),
            redelivered: input.redelivered,
        };
        let found = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            script.pick(&incoming, &mut seen)
        };
        match found {
            Some(found) => {
                let stage = Stage {
                    tools: &self.tools,
                    state: &self.env.state,
                    home: &self.env.home,
                    children: &self.env.children,
                    seen: &self.seen,
                    events,
                };
                play::rule(&stage, found).await
            }
            None => self.acknowledge(input, events).await,
        }
    }

    /// Tells the sender that no rule answers. A reply is not answered, or two agents would do so for
    /// ever; nor is a labelled program of the container, which is no recipient: that refusal is
    /// expected.
    async fn acknowledge(&self, input: &TurnInput, events: &EventSink) -> TurnEnd {
        let mut end = ended(Outcome::Ok, FailureClass::Unspecified, "");
        events(EngineEvent::Text("no rule answers this".to_owned()));
        if MUTE.contains(&input.from.as_str()) || input.in_reply_to.is_some() {
            return end;
        }
        let first = input.body.lines().next().unwrap_or_default();
        let quoted: String = first.chars().take(80).collect();
        let arguments = json!({
            "to": input.from,
            "body": format!(
                "{} is rehearsing without a model, and its script has no rule for this: {quoted}",
                self.agent
            ),
        });
        let key = CallKey::Step("ack".to_owned());
        _ = tools::call("send", self.tools.clone(), key, arguments).await;
        end.usage.tool_calls = 1;
        end
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
            biased;
            () = cancel.cancelled() => {
                ended(Outcome::Interrupted, FailureClass::Unspecified, "interrupted")
            }
            end = self.answer(&input, &events) => end,
        }
    }

    async fn compact(&mut self, _: EventSink, _: CancellationToken) -> TurnEnd {
        ended(Outcome::Ok, FailureClass::Unspecified, "")
    }

    async fn idle(&mut self) -> Option<std::time::Duration> {
        None
    }

    fn configure(&mut self, env: EngineEnv) {
        if env.config.script != self.env.config.script {
            self.script = Script::parse(&env.config.script);
            self.seen = Arc::default();
        }
        self.env = env;
    }

    async fn stop(&mut self) {}
}

/// The end of a turn that no model took part in.
pub(super) fn ended(outcome: Outcome, failure: FailureClass, detail: &str) -> TurnEnd {
    TurnEnd {
        outcome,
        failure,
        detail: detail.to_owned(),
        until_ms: None,
        usage: Usage::default(),
        model: "scripted".to_owned(),
    }
}
