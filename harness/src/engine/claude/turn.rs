//! One turn as a state machine: lines, clocks and cancellation in, lines to send and an end out.
//!
//! ```text
//! Checking ──tools are there──► Running ──result──► done
//!     │ tools lost, cancelled      │ cancelled, silent, too long, rate limited, tools lost
//!     ▼                            ▼
//!    done                       Stopping ──result──► done
//!                                  └──grace over──► the process is killed
//! ```
//!
//! No I/O and no waiting here: `drive.rs` does both. Permission requests are answered in the step
//! that reads them, so no clock runs while one is open.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::lines::RawLine;
use super::mcp_check::{McpCheck, Next as McpNext, missing_in};
use super::outcome::{Death, Facts, Kind, Stop};
use super::patience::SIT_OUT_MS;
use super::permission::Rule;
use super::protocol::{
    ApiRetry, Assistant, Init, Line, control_answer, control_refusal, control_request, parse,
    user_message,
};
use super::usage::Counted;
use crate::engine::{EngineEvent, EventSink};

/// How long the program may take until it is ready for a turn.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Between two looks at a server that is being connected.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// How long the program may take to end a turn that it was asked to interrupt. Below what the turn
/// loop gives the engine for it.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);

/// What is to be done in the turn.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) prompt: String,
    /// Longest time without a line.
    pub(super) silence: Duration,
    /// Longest time for all of it.
    pub(super) wall: Duration,
}

/// What the driver must do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Step {
    /// Send what is queued and wait for the next event or deadline.
    Wait,
    /// The turn is over and the process may be kept.
    Done,
    /// The process must be killed; the turn ends with its death.
    Kill,
}

#[derive(Debug)]
enum Phase {
    Checking {
        check: McpCheck,
        /// The request whose answer is awaited.
        request: String,
        look_at: Option<Instant>,
    },
    Running,
    Stopping {
        until: Instant,
    },
}

/// A turn in progress.
pub(super) struct Turn<'a> {
    job: Job,
    rule: &'a Rule,
    events: &'a EventSink,
    phase: Phase,
    began: Instant,
    last_line: Instant,
    outbox: Vec<Value>,
    pub(super) facts: Facts,
    pub(super) counted: Counted,
    pub(super) model: String,
    /// The conversation's id as the program says it; empty until then.
    pub(super) session: String,
    /// The prompt was sent: from here on work may have been done.
    pub(super) prompted: bool,
}

// === impl Turn ===

impl<'a> Turn<'a> {
    pub(super) fn begin(job: Job, rule: &'a Rule, events: &'a EventSink, now: Instant) -> Self {
        let facts = Facts::new(job.kind);
        let mut turn = Self {
            job,
            rule,
            events,
            phase: Phase::Running,
            began: now,
            last_line: now,
            outbox: Vec::new(),
            facts,
            counted: Counted::default(),
            model: String::new(),
            session: String::new(),
            prompted: false,
        };
        let request = turn.ask(McpCheck::status_request());
        turn.phase = Phase::Checking {
            check: McpCheck::default(),
            request,
            look_at: None,
        };
        turn
    }

    /// Lines to send, in order.
    pub(super) fn take_outbox(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.outbox)
    }

    /// When [`Turn::on_clock`] wants to be called.
    pub(super) fn deadline(&self) -> Instant {
        let wall = self.began + self.job.wall;
        match &self.phase {
            Phase::Checking { look_at, .. } => {
                let ready = self.began + READY_LIMIT;
                look_at.unwrap_or(ready).min(ready).min(wall)
            }
            Phase::Running => wall.min(self.last_line + self.job.silence),
            Phase::Stopping { until } => *until,
        }
    }

    pub(super) fn on_clock(&mut self, now: Instant) -> Step {
        match &mut self.phase {
            Phase::Stopping { until } if now >= *until => Step::Kill,
            Phase::Stopping { .. } => Step::Wait,
            _ if now >= self.began + self.job.wall => self.stop(Stop::Wall(self.job.wall), now),
            Phase::Running if now >= self.last_line + self.job.silence => {
                self.stop(Stop::Silent(self.job.silence), now)
            }
            Phase::Running => Step::Wait,
            Phase::Checking { .. } if now >= self.began + READY_LIMIT => {
                self.facts.stop.get_or_insert(Stop::NotReady(READY_LIMIT));
                Step::Kill
            }
            Phase::Checking { look_at, .. } => {
                if look_at.take().is_some() {
                    self.ask_in_check(McpCheck::status_request());
                }
                Step::Wait
            }
        }
    }

    pub(super) fn on_cancel(&mut self, now: Instant) -> Step {
        self.stop(Stop::Cancelled, now)
    }

    pub(super) fn on_death(&mut self, death: Death) -> Step {
        self.facts.death = Some(death);
        Step::Done
    }

    /// Takes one line. `now_ms` is Unix milliseconds.
    pub(super) fn on_line(&mut self, raw: &RawLine, now: Instant, now_ms: i64) -> Step {
        self.last_line = now;
        let bytes = match raw {
            RawLine::Whole(bytes) => bytes,
            RawLine::Cut { head, dropped } => {
                self.emit(EngineEvent::Notice(format!(
                    "a line of claude's was too long: {dropped} bytes were dropped"
                )));
                self.emit_raw(head);
                return Step::Wait;
            }
        };
        match parse(bytes) {
            Line::Init(init) => return self.on_init(init, now),
            Line::Assistant(assistant) => self.on_assistant(assistant),
            Line::ToolResults(ends) => {
                for (id, ok) in ends {
                    self.emit(EngineEvent::ToolEnd { id, ok });
                }
            }
            Line::Result(result) => {
                self.facts.result = Some(*result);
                return Step::Done;
            }
            Line::Retry(retry) => return self.on_retry(retry, now, now_ms),
            Line::Compacting => self.emit(EngineEvent::Compacting),
            Line::CompactFailed(why) => self.facts.compact_error = why,
            Line::Compacted { post_tokens } => {
                self.facts.compacted = true;
                self.counted.context_tokens = post_tokens;
                self.emit(EngineEvent::Compacted);
            }
            Line::Notice(text) => self.emit(EngineEvent::Notice(text)),
            Line::LimitReached { resets_at } => self.facts.limit = Some(resets_at),
            Line::PermissionRequest {
                request_id,
                tool,
                input,
            } => {
                let response = self.rule.decide(&tool, &input).to_response(&input);
                self.outbox.push(control_answer(&request_id, response));
            }
            Line::OtherRequest {
                request_id,
                subtype,
            } => {
                let why = format!("hive does not know the request {subtype}");
                self.outbox.push(control_refusal(&request_id, &why));
            }
            Line::ControlReply { request_id, reply } => {
                return self.on_reply(&request_id, &reply, now);
            }
            Line::Quiet => {}
            Line::Unknown => self.emit_raw(bytes),
        }
        Step::Wait
    }

    fn on_init(&mut self, init: Init, now: Instant) -> Step {
        let lost = missing_in(&init);
        self.model.clone_from(&init.model);
        self.session.clone_from(&init.session_id);
        self.emit(EngineEvent::SessionStarted {
            session: init.session_id,
            model: init.model,
        });
        match lost {
            Some(why) => self.stop(Stop::ToolsLost(why), now),
            None => Step::Wait,
        }
    }

    fn on_assistant(&mut self, assistant: Assistant) {
        if assistant.command_failed {
            self.facts.compact_error = assistant.texts.join(" ");
            return;
        }
        if assistant.context_tokens > 0 {
            self.counted.context_tokens = assistant.context_tokens;
        }
        if self.model.is_empty() && !assistant.model.starts_with('<') {
            self.model = assistant.model;
        }
        for text in assistant.texts {
            self.emit(EngineEvent::Text(text));
        }
        for (id, name) in assistant.tools {
            self.counted.tool_calls += 1;
            self.emit(EngineEvent::ToolStart { id, name });
        }
    }

    fn on_retry(&mut self, retry: ApiRetry, now: Instant, now_ms: i64) -> Step {
        let limited = retry.error_status == Some(429) || retry.error == "rate_limit";
        let patient = retry.retry_delay_ms <= SIT_OUT_MS;
        self.emit(EngineEvent::Retry {
            attempt: retry.attempt,
            why: retry.error.clone(),
        });
        self.facts.last_retry = Some(retry);
        self.facts.retry_at_ms = now_ms;
        match limited && !patient {
            true => self.stop(Stop::RateLimited, now),
            false => Step::Wait,
        }
    }

    fn on_reply(&mut self, id: &str, reply: &Result<Value, String>, now: Instant) -> Step {
        let Phase::Checking {
            check,
            request,
            look_at,
        } = &mut self.phase
        else {
            return Step::Wait;
        };
        if request != id {
            return Step::Wait;
        }
        match check.on_reply(reply) {
            McpNext::Ready => {
                self.phase = Phase::Running;
                self.prompted = true;
                self.outbox.push(user_message(&self.job.prompt));
                Step::Wait
            }
            McpNext::LookAgain => {
                *look_at = Some(now + LOOK_AGAIN);
                Step::Wait
            }
            McpNext::Ask(body) => {
                self.ask_in_check(body);
                Step::Wait
            }
            McpNext::Lost(why) => self.stop(Stop::ToolsLost(why), now),
        }
    }

    /// Ends the turn for `why`; the first reason counts.
    fn stop(&mut self, why: Stop, now: Instant) -> Step {
        if self.facts.stop.is_some() {
            return Step::Wait;
        }
        self.facts.stop = Some(why);
        match self.phase {
            // Nothing was asked yet, so nothing needs to be interrupted.
            Phase::Checking { .. } => Step::Done,
            Phase::Running | Phase::Stopping { .. } => {
                self.ask(json!({"subtype": "interrupt"}));
                self.phase = Phase::Stopping {
                    until: now + INTERRUPT_GRACE,
                };
                Step::Wait
            }
        }
    }

    fn ask(&mut self, body: Value) -> String {
        let id = Uuid::new_v4().to_string();
        self.outbox.push(control_request(&id, body));
        id
    }

    fn ask_in_check(&mut self, body: Value) {
        let id = self.ask(body);
        if let Phase::Checking { request, .. } = &mut self.phase {
            *request = id;
        }
    }

    fn emit(&self, event: EngineEvent) {
        (self.events)(event);
    }

    fn emit_raw(&self, bytes: &[u8]) {
        self.emit(EngineEvent::Raw(
            String::from_utf8_lossy(bytes).into_owned(),
        ));
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
