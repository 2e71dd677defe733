//! What a turn came to: pure, from the facts that the stream and the process left.
//!
//! The terminal state decides, never the exit code alone: an interrupted program exits with 0, an
//! API error arrives with subtype `success`.

use hive_proto::v1::{FailureClass, Outcome};

use super::facts::{Death, Facts, Kind, Stop};
use super::patience::{park_end, parse_wait};
use super::protocol::ResultLine;

/// The part of a `TurnEnd` that is decided here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) failure: FailureClass,
    pub(super) detail: String,
    pub(super) until_ms: Option<i64>,
}

/// Decides the outcome. `now_ms` is Unix milliseconds.
pub(super) fn judge(facts: &Facts, now_ms: i64) -> Verdict {
    if let Some(result) = facts.result.as_ref().filter(|result| succeeded(result)) {
        return done(facts, result);
    }
    if let Some(stop) = &facts.stop {
        return stopped(stop, facts, now_ms);
    }
    match (&facts.result, &facts.death) {
        (Some(result), _) => failed(result, facts, now_ms),
        (None, Some(death)) => died(death),
        (None, None) => Verdict::failed(FailureClass::Crashed, "claude gave no result"),
    }
}

fn succeeded(result: &ResultLine) -> bool {
    !result.is_error && result.subtype == "success"
}

fn done(facts: &Facts, result: &ResultLine) -> Verdict {
    match facts.kind {
        Kind::Prompt if result.stop_reason.as_deref() == Some("refusal") => {
            Verdict::failed(FailureClass::Refused, "the model refused")
        }
        Kind::Prompt => Verdict::new(Outcome::Ok, String::new()),
        Kind::Compact if facts.compacted => Verdict::new(Outcome::Compacted, String::new()),
        Kind::Compact if facts.compact_error.contains("No messages to compact") => Verdict::new(
            Outcome::Compacted,
            "there was nothing to compact".to_owned(),
        ),
        Kind::Compact => {
            let why = [
                facts.compact_error.as_str(),
                said(result).as_str(),
                "no reason given",
            ]
            .into_iter()
            .find(|text| !text.is_empty())
            .map(one_line)
            .unwrap_or_default();
            let detail = format!("the context was not compacted: {why}");
            Verdict::failed(FailureClass::ContextFull, detail)
        }
    }
}

fn stopped(stop: &Stop, facts: &Facts, now_ms: i64) -> Verdict {
    match stop {
        Stop::Cancelled => Verdict::new(Outcome::Interrupted, String::new()),
        Stop::Silent(limit) => {
            let detail = format!("no sign of life from claude for {} s", limit.as_secs());
            Verdict::failed(FailureClass::Timeout, detail)
        }
        Stop::Wall(limit) => {
            let detail = format!("the turn took longer than {} s", limit.as_secs());
            Verdict::failed(FailureClass::Timeout, detail)
        }
        Stop::RateLimited => rate_limited(facts, "", now_ms),
        Stop::ToolsLost(why) => {
            let detail = format!("claude cannot reach hive's tools: {why}");
            Verdict::failed(FailureClass::Crashed, detail)
        }
        Stop::NotReady(limit) => {
            let detail = format!("claude was not ready after {} s", limit.as_secs());
            Verdict::failed(FailureClass::Timeout, detail)
        }
    }
}

fn failed(result: &ResultLine, facts: &Facts, now_ms: i64) -> Verdict {
    let said = said(result);
    let terminal = result.terminal_reason.as_deref().unwrap_or_default();
    match (result.subtype.as_str(), terminal) {
        (_, "prompt_too_long" | "blocking_limit") => {
            Verdict::failed(FailureClass::ContextFull, said)
        }
        (_, "budget_exhausted") | ("error_max_budget_usd", _) => {
            Verdict::new(Outcome::BudgetExhausted, said)
        }
        (_, "max_turns") | ("error_max_turns", _) => Verdict::failed(FailureClass::Config, said),
        // Nobody here asked for it: someone signalled the program.
        (_, "aborted_tools" | "aborted_streaming") => Verdict::failed(
            FailureClass::Crashed,
            "claude was interrupted by something other than hive",
        ),
        ("error_during_execution", _) if unknown_session(&said) => {
            Verdict::failed(FailureClass::BadSession, said)
        }
        _ if facts.limit.is_some() => rate_limited(facts, &said, now_ms),
        _ if result.stop_reason.as_deref() == Some("refusal") => {
            Verdict::failed(FailureClass::Refused, said)
        }
        _ => api_error(result, facts, said, now_ms),
    }
}

fn api_error(result: &ResultLine, facts: &Facts, said: String, now_ms: i64) -> Verdict {
    let Some(status) = result.api_error_status else {
        return unnumbered(result, said);
    };
    match status {
        401 | 403 => Verdict::new(Outcome::AuthFailed, said),
        402 => Verdict::new(Outcome::BudgetExhausted, said),
        429 => rate_limited(facts, &said, now_ms),
        413 => Verdict::failed(FailureClass::ContextFull, said),
        400 if too_long(&said) => Verdict::failed(FailureClass::ContextFull, said),
        // The history itself is refused: no retry in this session can succeed.
        400 if said.contains("tool_use") || said.contains("messages.") => {
            Verdict::failed(FailureClass::BadSession, said)
        }
        408 | 504 => Verdict::failed(FailureClass::Timeout, said),
        409 | 500.. => Verdict::failed(FailureClass::Overloaded, said),
        _ => Verdict::failed(FailureClass::Config, said),
    }
}

/// An error without a status: the request did not get an answer, or the program made the error up.
fn unnumbered(result: &ResultLine, said: String) -> Verdict {
    let kind = result
        .api_error
        .as_deref()
        .or(result.api_error_type.as_deref())
        .unwrap_or_default();
    let class = match kind {
        "authentication_error" | "permission_error" => {
            return Verdict::new(Outcome::AuthFailed, said);
        }
        "billing_error" => return Verdict::new(Outcome::BudgetExhausted, said),
        "overloaded_error" | "api_error" => FailureClass::Overloaded,
        // The model was cut off at its output limit again and again.
        "max_output_tokens" => FailureClass::Refused,
        kind if kind.contains("timeout") => FailureClass::Timeout,
        kind if kind.contains("connection") || kind.contains("network") => FailureClass::Network,
        _ if too_long(&said) => FailureClass::ContextFull,
        _ if unknown_session(&said) => FailureClass::BadSession,
        _ if mentions_network(&said) => FailureClass::Network,
        _ => FailureClass::Crashed,
    };
    Verdict::failed(class, said)
}

fn died(death: &Death) -> Verdict {
    let stderr = death.stderr.as_str();
    let how = match (death.code, death.signal) {
        (_, Some(signal)) => format!("claude was ended by signal {signal}"),
        (Some(code), None) => format!("claude exited with code {code}"),
        (None, None) => "claude ended".to_owned(),
    };
    let last = one_line(stderr);
    let detail = match last.is_empty() {
        true => format!("{how} before the turn ended"),
        false => format!("{how} before the turn ended: {last}"),
    };
    let class = if unknown_session(stderr) || stderr.contains("is already in use") {
        FailureClass::BadSession
    } else if stderr.contains("unknown option")
        || stderr.contains("cannot be used with root")
        || stderr.contains("Invalid MCP configuration")
        || stderr.contains("error while loading shared libraries")
    {
        FailureClass::Config
    } else {
        FailureClass::Crashed
    };
    Verdict::failed(class, detail)
}

fn rate_limited(facts: &Facts, said: &str, now_ms: i64) -> Verdict {
    let told = facts
        .last_retry
        .as_ref()
        .filter(|retry| retry.error_status == Some(429) || retry.error == "rate_limit")
        .map(|retry| park_end(facts.retry_at_ms, retry.retry_delay_ms));
    let reset = facts
        .limit
        .flatten()
        .map(|seconds| seconds.saturating_mul(1000));
    let until_ms = reset.or_else(|| parse_wait(said, now_ms)).or(told);
    let detail = match said.is_empty() {
        true => "the provider's rate limit was reached".to_owned(),
        false => said.to_owned(),
    };
    Verdict {
        until_ms: until_ms.filter(|until| *until > now_ms),
        ..Verdict::new(Outcome::RateLimited, detail)
    }
}

fn too_long(said: &str) -> bool {
    let said = said.to_lowercase();
    said.contains("prompt is too long") || said.contains("context window")
}

fn unknown_session(said: &str) -> bool {
    said.contains("No conversation found with session ID")
}

fn mentions_network(said: &str) -> bool {
    [
        "ECONNREFUSED",
        "ECONNRESET",
        "ENOTFOUND",
        "onnection error",
        "Unable to connect",
    ]
    .iter()
    .any(|word| said.contains(word))
}

fn said(result: &ResultLine) -> String {
    let text = match result.result.as_deref() {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => result.errors.join("; "),
    };
    one_line(&text)
}

/// The first 300 characters on one line: it ends in a table cell.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(300).collect()
}

// === impl Verdict ===

impl Verdict {
    fn new(outcome: Outcome, detail: String) -> Self {
        Self {
            outcome,
            failure: FailureClass::Unspecified,
            detail,
            until_ms: None,
        }
    }

    pub(super) fn failed(failure: FailureClass, detail: impl Into<String>) -> Self {
        Self {
            failure,
            ..Self::new(Outcome::Failed, detail.into())
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
