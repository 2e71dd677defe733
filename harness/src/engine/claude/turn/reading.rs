//! What each line means for a turn.
//!
//! Permission requests are answered in the step that reads them, so no clock runs while one is open.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Phase, Step, Turn};
use crate::engine::EngineEvent;
use crate::engine::claude::control::{control_answer, control_refusal, user_message};
use crate::engine::claude::facts::Stop;
use crate::engine::claude::lines::RawLine;
use crate::engine::claude::mcp_check::{Next, missing_in};
use crate::engine::claude::patience::SIT_OUT_MS;
use crate::engine::claude::protocol::{ApiRetry, Assistant, Init, Line, parse};

/// Between two looks at a server that is being connected.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

impl Turn<'_> {
    /// Takes one line. `now_ms` is Unix milliseconds.
    pub(in crate::engine::claude) fn on_line(
        &mut self,
        raw: &RawLine,
        now: Instant,
        now_ms: i64,
    ) -> Step {
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
            Next::Ready => {
                self.phase = Phase::Running;
                self.prompted = true;
                self.outbox.push(user_message(&self.job.prompt));
                Step::Wait
            }
            Next::LookAgain => {
                *look_at = Some(now + LOOK_AGAIN);
                Step::Wait
            }
            Next::Ask(body) => {
                self.ask_in_check(body);
                Step::Wait
            }
            Next::Lost(why) => self.stop(Stop::ToolsLost(why), now),
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
