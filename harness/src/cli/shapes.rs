//! The JSON documents that scripts rely on: stable snake_case keys, RFC 3339 times in UTC, ids as
//! numbers, `null` for what is absent. Keys are only added.

use std::collections::BTreeMap;

use hive_proto::v1;
use hive_proto::words;
use serde::Serialize;
use serde_json::Value;

use super::when;

/// An agent as shown.
#[derive(Debug, Serialize)]
pub(super) struct Agent {
    id: i64,
    name: String,
    role: &'static str,
    parent: Option<String>,
    state: String,
    state_since: Option<String>,
    until: Option<String>,
    detail: Option<String>,
    desired: String,
    runtime: String,
    runtime_id: Option<String>,
    engine: String,
    model: Option<String>,
    image: Option<String>,
    unread: u32,
    turns: u64,
    turn: Option<i64>,
    turn_started_at: Option<String>,
    cost_today_usd: f64,
    status_text: Option<String>,
    config_sha: Option<String>,
    needs_update: bool,
    stalled: bool,
    restarts: u32,
    version: Option<String>,
    created_at: Option<String>,
}

/// One inbox row.
#[derive(Debug, Serialize)]
pub(super) struct Message {
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
pub(super) struct Life {
    #[serde(flatten)]
    message: Message,
    events: Vec<Event>,
    turns: Vec<Turn>,
    replies: Vec<Message>,
}

/// One run of an engine.
#[derive(Debug, Serialize)]
pub(super) struct Turn {
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
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// One row of the events table.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    seq: i64,
    at: Option<String>,
    kind: String,
    agent: Option<String>,
    data: Value,
}

/// What became of a send.
#[derive(Debug, Serialize)]
pub(super) struct Sent {
    id: i64,
    duplicate: bool,
    recipient_state: Option<String>,
    deliveries: Vec<Delivery>,
}

/// One recipient of a broadcast.
#[derive(Debug, Serialize)]
pub(super) struct Delivery {
    to: String,
    id: Option<i64>,
    error: Option<String>,
}

/// The hive itself.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    version: String,
    home: String,
    run: String,
    listen: Option<String>,
    store: Store,
    runtime: String,
    runtime_error: Option<String>,
    unisolated: bool,
    rehearsal: bool,
    uptime_seconds: u64,
    /// Number of agents by state.
    agents: BTreeMap<String, u32>,
    waiting: Vec<Waiting>,
    reconcilers: Vec<Reconciler>,
}

#[derive(Debug, Serialize)]
struct Store {
    schema: u32,
    bytes: u64,
    sqlite_version: String,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Waiting {
    kind: String,
    agent: Option<String>,
    id: Option<i64>,
    since: Option<String>,
    text: String,
}

#[derive(Debug, Serialize)]
struct Reconciler {
    name: String,
    last_run_at: Option<String>,
    duration_ms: u32,
    summary: Option<String>,
    error: Option<String>,
}

/// `None` for the empty text.
fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// `None` for the empty word.
fn word(word: &'static str) -> Option<&'static str> {
    (!word.is_empty()).then_some(word)
}

/// `None` for 0, which is no id.
fn id(id: i64) -> Option<i64> {
    (id != 0).then_some(id)
}

// === impl Agent ===

impl From<&v1::Agent> for Agent {
    fn from(agent: &v1::Agent) -> Self {
        Self {
            id: agent.id,
            name: agent.name.clone(),
            role: words::role(agent.role()),
            parent: text(&agent.parent),
            state: agent.state.clone(),
            state_since: when::json(agent.state_since_ms),
            until: when::json(agent.until_ms),
            detail: text(&agent.detail),
            desired: agent.desired.clone(),
            runtime: agent.runtime.clone(),
            runtime_id: text(&agent.runtime_id),
            engine: agent.engine.clone(),
            model: text(&agent.model),
            image: text(&agent.image),
            unread: agent.unread,
            turns: agent.turns,
            turn: id(agent.turn_id),
            turn_started_at: when::json(agent.turn_started_ms),
            cost_today_usd: agent.cost_today_usd,
            status_text: text(&agent.status_text),
            config_sha: text(&agent.config_sha),
            needs_update: agent.needs_update,
            stalled: agent.stalled,
            restarts: agent.restarts,
            version: text(&agent.version),
            created_at: when::json(agent.created_at_ms),
        }
    }
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

// === impl Status ===

impl From<&v1::HiveStatus> for Status {
    fn from(status: &v1::HiveStatus) -> Self {
        let store = status.store.clone().unwrap_or_default();
        let counts = status.agents.iter();
        Self {
            version: status.version.clone(),
            home: status.home.clone(),
            run: status.run.clone(),
            listen: text(&status.listen),
            store: Store {
                schema: store.schema,
                bytes: store.bytes,
                sqlite_version: store.sqlite_version,
                error: text(&store.error),
            },
            runtime: status.runtime.clone(),
            runtime_error: text(&status.runtime_error),
            unisolated: status.unisolated,
            rehearsal: status.rehearsal,
            uptime_seconds: status.uptime_secs,
            agents: counts.map(|c| (c.state.clone(), c.count)).collect(),
            waiting: status.waiting.iter().map(Waiting::from).collect(),
            reconcilers: status.reconcilers.iter().map(Reconciler::from).collect(),
        }
    }
}

impl From<&v1::Waiting> for Waiting {
    fn from(waiting: &v1::Waiting) -> Self {
        Self {
            kind: waiting.kind.clone(),
            agent: text(&waiting.agent),
            id: id(waiting.id),
            since: when::json(waiting.since_ms),
            text: waiting.text.clone(),
        }
    }
}

impl From<&v1::ReconcilerStatus> for Reconciler {
    fn from(reconciler: &v1::ReconcilerStatus) -> Self {
        Self {
            name: reconciler.name.clone(),
            last_run_at: when::json(reconciler.last_run_ms),
            duration_ms: reconciler.duration_ms,
            summary: text(&reconciler.summary),
            error: text(&reconciler.error),
        }
    }
}
