//! Plays the steps of a rule. Every send carries (message, step) as its key, so a turn that runs
//! again says nothing twice.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hive_proto::script::{Act, Args, Crash, Ending, Failure, Play, Seen, Step, Values};
use hive_proto::v1::{FailureClass, Outcome};

use super::engine::ended;
use super::shell;
use crate::engine::{EngineEvent, EventSink, TurnEnd};
use crate::proc::Children;
use crate::tools::{self, CallKey, ToolContext};

/// What the steps act on.
pub(super) struct Stage<'a> {
    pub(super) tools: &'a ToolContext,
    pub(super) state: &'a Path,
    pub(super) home: &'a Path,
    pub(super) children: &'a Children,
    pub(super) seen: &'a Mutex<Seen>,
    pub(super) events: &'a EventSink,
}

/// What a step leads to.
enum After {
    Next,
    /// The step has a result.
    Result(String),
    End(TurnEnd),
}

/// Plays a rule to its end.
pub(super) async fn rule(stage: &Stage<'_>, found: Play<'_>) -> TurnEnd {
    let mut values = found.values;
    let mut calls = 0;
    for (at, step) in found.rule.steps.iter().enumerate() {
        match stage.step(step, (found.index, at), &values).await {
            After::Next => {}
            After::Result(text) => {
                calls += 1;
                values.result(step, text);
            }
            After::End(mut end) => {
                end.usage.tool_calls = calls;
                return end;
            }
        }
    }
    let mut end = well();
    end.usage.tool_calls = calls;
    end
}

// === impl Stage ===

impl Stage<'_> {
    async fn step(&self, step: &Step, at: (usize, usize), values: &Values) -> After {
        match &step.act {
            Act::Say(text) => {
                (self.events)(EngineEvent::Text(values.text(text)));
                After::Next
            }
            Act::Tool { name, args } => After::Result(self.tool(name, args, at, values).await),
            Act::Shell(line) => {
                let line = values.shell(line);
                let run = shell::run(self.children, &line, self.state, self.home);
                After::Result(self.watched("shell", at, run).await)
            }
            Act::Wait(time) => {
                tokio::time::sleep(*time).await;
                After::Next
            }
            Act::Fail(failure) if self.fires(step, at) => self.fail(failure, step).await,
            Act::Crash(who) if self.fires(step, at) => crash(*who, step),
            Act::Fail(_) | Act::Crash(_) => After::Next,
            Act::End => After::End(well()),
        }
    }

    async fn tool(&self, name: &str, args: &Args, at: (usize, usize), values: &Values) -> String {
        let key = CallKey::Step(format!("r{}s{}", at.0, at.1));
        let call = tools::call(name, self.tools.clone(), key, values.json(args));
        let call = async { call.await.map(|v| v.to_string()).map_err(|e| e.to_string()) };
        self.watched(name, at, call).await
    }

    /// Says when a call begins and ends; an error is as good a result as any other.
    async fn watched(
        &self,
        name: &str,
        at: (usize, usize),
        call: impl Future<Output = Result<String, String>>,
    ) -> String {
        let id = format!("r{}s{}", at.0, at.1);
        (self.events)(EngineEvent::ToolStart {
            id: id.clone(),
            name: name.to_owned(),
        });
        let (ok, text) = match call.await {
            Ok(text) => (true, text),
            Err(text) => (false, text),
        };
        (self.events)(EngineEvent::ToolEnd { id, ok });
        text
    }

    fn fires(&self, step: &Step, at: (usize, usize)) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.fires(at.0, at.1, step)
    }

    async fn fail(&self, failure: &Failure, step: &Step) -> After {
        if let Failure::Stall(time) = failure {
            tokio::time::sleep(*time).await;
        }
        match failure.ending() {
            Some(ending) => After::End(failed(&ending, step)),
            None => After::Next,
        }
    }
}

fn well() -> TurnEnd {
    ended(Outcome::Ok, FailureClass::Unspecified, "")
}

fn failed(ending: &Ending, step: &Step) -> TurnEnd {
    let detail = format!("the script says so in line {}", step.line);
    let mut end = ended(ending.outcome, ending.failure, &detail);
    end.until_ms = ending.retry_after.and_then(|wait| {
        let until = SystemTime::now().checked_add(wait)?;
        let since = until.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    });
    end
}

/// The harness dies without a word, as if it had been killed; an engine's process leaves that to
/// its harness.
fn crash(who: Crash, step: &Step) -> After {
    match who {
        Crash::Harness => std::process::abort(),
        Crash::Engine => After::End(ended(
            Outcome::Failed,
            FailureClass::Crashed,
            &format!("the script let the engine crash in line {}", step.line),
        )),
    }
}
