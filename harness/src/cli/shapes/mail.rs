//! Messages, their lives, turns and events as JSON documents.

use hive_proto::{v1, words};
use serde::Serialize;
use serde_json::Value;

use super::super::when;
use super::absent::{id, text, word};

/// One inbox row.
#[derive(Debug, Serialize)]
pub(in super::super) struct Message {
    id: i64,
    from: String,
    to: String,
    body: String,
    in_reply_to: Option<i64>,
    state: &'static str,
    attempt: u32,
    redelivered: bool,
    queued_at: Option<String>,
    leased_at: Option<String>,
    acked_at: Option<String>,
    not_before: Option<String>,
    result: Option<String>,
    turn: Option<i64>,
}

/// A message with all that happened to it.
#[derive(Debug, Serialize)]
pub(in super::super) struct Life {
    #[serde(flatten)]
    message: Message,
    events: Vec<Event>,
    turns: Vec<Turn>,
    replies: Vec<Message>,
}

/// One run of an engine.
#[derive(Debug, Serialize)]
pub(in super::super) struct Turn {
    id: i64,
    agent: String,
    message: Option<i64>,
    engine: String,
    model: Option<String>,
    outcome: Option<&'static str>,
    failure: Option<&'static str>,
    detail: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    tokens: Tokens,
    cost_usd: f64,
    context: Option<u64>,
    tool_calls: u32,
}

/// Tokens of one turn.
#[derive(Debug, Serialize)]
pub(in super::super) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// One row of the events table.
#[derive(Debug, Serialize)]
pub(in super::super) struct Event {
    seq: i64,
    at: Option<String>,
    kind: String,
    agent: Option<String>,
    data: Value,
}

/// What became of a send.
#[derive(Debug, Serialize)]
pub(in super::super) struct Sent {
    id: i64,
    duplicate: bool,
    recipient_state: Option<String>,
    deliveries: Vec<Delivery>,
}

/// One recipient of a broadcast.
#[derive(Debug, Serialize)]
pub(in super::super) struct Delivery {
    to: String,
    id: Option<i64>,
    error: Option<String>,
}

// === impl Message ===

impl From<&v1::Message> for Message {
    fn from(message: &v1::Message) -> Self {
        Self {
            id: message.id,
            from: message.from.clone(),
            to: message.to.clone(),
            body: message.body.clone(),
            in_reply_to: message.in_reply_to,
            state: words::message_state(message.state()),
            attempt: message.attempt,
            redelivered: message.redelivered,
            queued_at: when::json(message.queued_at_ms),
            leased_at: when::json(message.leased_at_ms),
            acked_at: when::json(message.acked_at_ms),
            not_before: when::json(message.not_before_ms),
            result: text(&message.result),
            turn: id(message.turn_id),
        }
    }
}

// === impl Life ===

impl From<&v1::MessageLife> for Life {
    fn from(life: &v1::MessageLife) -> Self {
        Self {
            message: Message::from(&life.message.clone().unwrap_or_default()),
            events: life.events.iter().map(Event::from).collect(),
            turns: life.turns.iter().map(Turn::from).collect(),
            replies: life.replies.iter().map(Message::from).collect(),
        }
    }
}

// === impl Turn ===

impl From<&v1::Turn> for Turn {
    fn from(turn: &v1::Turn) -> Self {
        let usage = turn.usage.unwrap_or_default();
        Self {
            id: turn.id,
            agent: turn.agent.clone(),
            message: id(turn.message_id),
            engine: turn.engine.clone(),
            model: text(&turn.model),
            outcome: word(words::outcome(turn.outcome())),
            failure: word(words::failure(turn.failure())),
            detail: text(&turn.detail),
            started_at: when::json(turn.started_at_ms),
            ended_at: when::json(turn.ended_at_ms),
            tokens: Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_tokens,
                cache_write: usage.cache_write_tokens,
            },
            cost_usd: usage.cost_usd,
            context: (usage.context_tokens != 0).then_some(usage.context_tokens),
            tool_calls: usage.tool_calls,
        }
    }
}

// === impl Event ===

impl From<&v1::Event> for Event {
    fn from(event: &v1::Event) -> Self {
        Self {
            seq: event.seq,
            at: when::json(event.at_ms),
            kind: event.kind.clone(),
            agent: text(&event.agent),
            data: serde_json::from_str(&event.data_json).unwrap_or(Value::Null),
        }
    }
}

// === impl Sent ===

impl From<&v1::SendResponse> for Sent {
    fn from(sent: &v1::SendResponse) -> Self {
        let delivery = |one: &v1::Delivery| Delivery {
            to: one.to.clone(),
            id: id(one.id),
            error: one.error.as_ref().map(|error| error.message.clone()),
        };
        Self {
            id: sent.id,
            duplicate: sent.duplicate,
            recipient_state: text(&sent.recipient_state),
            deliveries: sent.deliveries.iter().map(delivery).collect(),
        }
    }
}
