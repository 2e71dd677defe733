//! What the model says next: the steps from where the conversation stands up to the next tool call,
//! failure or end.

use std::time::Duration;

use hive_proto::script::{Act, Crash, Failure, Incoming, Play, Script, Seen};
use hive_proto::v1::FailureClass;

use super::conversation::Asks;
use super::summary;
use super::tools::{Place, ToolUse};

/// Said where a turn would end without a word.
const DONE: &str = "Done.";
/// A time-out is silence that outlasts every engine's patience.
const SILENCE: Duration = Duration::from_secs(3600);

/// One piece of an answer, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Wait(Duration),
    Text(String),
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) pieces: Vec<Piece>,
    pub(super) end: End,
}

/// How an answer ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Turn,
    Tool(ToolUse),
    MaxTokens,
    Refusal,
    Status {
        code: u16,
        message: &'static str,
        retry_after: Option<Duration>,
    },
    /// Silence, then the connection is cut.
    Stall(Duration),
    /// The connection is cut after what was said.
    Drop,
    /// The connection is cut without any answer.
    NoAnswer,
}

/// Works out the answer to a request.
pub(super) fn answer(script: &Script, seen: &mut Seen, asks: &Asks) -> Answer {
    match asks {
        Asks::Answer { incoming, results } => match script.pick(incoming, seen) {
            Some(play) => next(play, results, seen),
            None => unanswered(incoming),
        },
        Asks::Summary { mail, results } => said(summary::write(mail.as_ref(), results)),
    }
}

fn said(text: String) -> Answer {
    Answer {
        pieces: vec![Piece::Text(text)],
        end: End::Turn,
    }
}

fn unanswered(incoming: &Incoming) -> Answer {
    said(format!(
        "No rule of the script answers this message from {}.",
        incoming.from
    ))
}

fn next(play: Play<'_>, results: &[(Place, String)], seen: &mut Seen) -> Answer {
    let Play {
        rule,
        index,
        mut values,
    } = play;
    let mut begin = 0;
    for (place, text) in results.iter().filter(|(place, _)| place.rule == index) {
        if let Some(step) = rule.steps.get(place.step) {
            values.result(step, text.clone());
            begin = place.step + 1;
        }
    }
    let mut pieces = Vec::new();
    for (at, step) in rule.steps.iter().enumerate().skip(begin) {
        let place = Place {
            rule: index,
            step: at,
        };
        let end = match &step.act {
            Act::Say(text) => {
                pieces.push(Piece::Text(values.text(text)));
                continue;
            }
            Act::Wait(time) => {
                pieces.push(Piece::Wait(*time));
                continue;
            }
            Act::Tool { name, args } => End::Tool(ToolUse::tool(place, name, values.json(args))),
            Act::Shell(line) => End::Tool(ToolUse::shell(place, &values.shell(line))),
            Act::End => break,
            Act::Fail(_) | Act::Crash(_) if !seen.fires(index, at, step) => continue,
            Act::Fail(failure) => failed(failure, place),
            Act::Crash(crash) => End::Tool(ToolUse::crash(place, *crash)),
        };
        return Answer { pieces, end };
    }
    if !pieces.iter().any(|piece| matches!(piece, Piece::Text(_))) {
        pieces.push(Piece::Text(DONE.to_owned()));
    }
    Answer {
        pieces,
        end: End::Turn,
    }
}

/// How a failure looks to a client of the Messages API.
fn failed(failure: &Failure, place: Place) -> End {
    let status = |code, retry_after| End::Status {
        code,
        message: message(code),
        retry_after,
    };
    match failure {
        Failure::Class(class) => match class {
            FailureClass::Overloaded => status(529, None),
            FailureClass::Network => End::NoAnswer,
            FailureClass::Crashed => End::Tool(ToolUse::crash(place, Crash::Engine)),
            FailureClass::Timeout => End::Stall(SILENCE),
            FailureClass::Refused => End::Refusal,
            FailureClass::ContextFull => End::Status {
                code: 400,
                message: "prompt is too long: 210000 tokens > 200000 maximum",
                retry_after: None,
            },
            // A session is the engine's own business: no answer of a model spoils it.
            FailureClass::Config | FailureClass::BadSession | FailureClass::Unspecified => {
                status(400, None)
            }
        },
        Failure::RateLimited { retry_after } => status(429, *retry_after),
        Failure::AuthFailed => status(401, None),
        Failure::BudgetExhausted => status(402, None),
        Failure::Status { code, retry_after } => status(*code, *retry_after),
        Failure::Stall(time) => End::Stall(*time),
        Failure::Drop => End::Drop,
        Failure::MaxTokens => End::MaxTokens,
    }
}

fn message(code: u16) -> &'static str {
    match code {
        401 => "invalid x-api-key",
        402 => "Your credit balance is too low to access the API",
        403 => "Your API key does not have permission to use the specified resource",
        429 => "This request would exceed your rate limit",
        529 => "Overloaded",
        400..500 => "the script refuses this request",
        _ => "Internal server error",
    }
}
