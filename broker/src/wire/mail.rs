//! Messages, turns and events on the wire.

use hive_proto::v1::{self, MessageLife, SendResponse};
use hive_proto::words;

use super::ms;
use crate::inbox::{Delivered, Life, Novelty, Sent, Waiting};
use crate::model::message::Delivery;
use crate::refusals::Refuse as _;
use crate::store::events::EventRow;
use crate::store::messages::MessageRow;
use crate::store::turns::{TurnRow, Usage};

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl From<MessageRow> for v1::Message {
    fn from(row: MessageRow) -> Self {
        Self {
            id: row.id.0,
            from: row.from,
            to: row.to_name,
            body: row.body,
            in_reply_to: row.in_reply_to.map(|id| id.0),
            state: row.state.into(),
            attempt: row.attempt,
            redelivered: match row.delivery {
                Delivery::First => false,
                Delivery::Again => true,
            },
            queued_at_ms: row.queued_at.0,
            leased_at_ms: ms(row.leased_at),
            acked_at_ms: ms(row.finished_at),
            not_before_ms: ms(row.not_before),
            result: row.result,
            turn_id: row.turn.map_or(0, |turn| turn.0),
        }
    }
}

impl From<EventRow> for v1::Event {
    fn from(row: EventRow) -> Self {
        Self {
            seq: row.seq.0,
            at_ms: row.at.0,
            kind: row.kind,
            agent: row.agent,
            data_json: row.data,
        }
    }
}

impl From<Usage> for v1::Usage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: unsigned(usage.input_tokens),
            output_tokens: unsigned(usage.output_tokens),
            cache_read_tokens: unsigned(usage.cache_read_tokens),
            cache_write_tokens: unsigned(usage.cache_write_tokens),
            cost_usd: usage.cost_usd,
            context_tokens: unsigned(usage.context_tokens),
            tool_calls: usage.tool_calls,
        }
    }
}

impl From<v1::Usage> for Usage {
    fn from(usage: v1::Usage) -> Self {
        // What a harness says is not believed to be a number.
        let cost_usd = if usage.cost_usd.is_finite() && usage.cost_usd >= 0.0 {
            usage.cost_usd
        } else {
            0.0
        };
        Self {
            input_tokens: signed(usage.input_tokens),
            output_tokens: signed(usage.output_tokens),
            cache_read_tokens: signed(usage.cache_read_tokens),
            cache_write_tokens: signed(usage.cache_write_tokens),
            cost_usd,
            context_tokens: signed(usage.context_tokens),
            tool_calls: usage.tool_calls,
        }
    }
}

/// A turn of the agent with that name.
fn turn(row: TurnRow, agent: &str) -> v1::Turn {
    v1::Turn {
        id: row.id.0,
        agent: agent.to_owned(),
        message_id: row.message.0,
        epoch: row.epoch.0,
        engine: row.engine,
        model: row.model,
        started_at_ms: row.started_at.0,
        ended_at_ms: ms(row.ended_at),
        outcome: words::parse_outcome(&row.outcome)
            .unwrap_or_default()
            .into(),
        failure: words::parse_failure(&row.failure)
            .unwrap_or_default()
            .into(),
        detail: row.detail,
        usage: Some(row.usage.into()),
    }
}

impl From<Life> for MessageLife {
    fn from(life: Life) -> Self {
        let agent = life.message.to_name.clone();
        let turns = life.turns.into_iter();
        Self {
            turns: turns.map(|row| turn(row, &agent)).collect(),
            events: life.events.into_iter().map(Into::into).collect(),
            replies: life.replies.into_iter().map(Into::into).collect(),
            message: Some(life.message.into()),
        }
    }
}

impl From<Waiting> for v1::Waiting {
    fn from(waiting: Waiting) -> Self {
        Self {
            kind: waiting.kind.word().to_owned(),
            agent: waiting.agent,
            id: waiting.id.0,
            since_ms: waiting.since.0,
            text: waiting.text,
        }
    }
}

/// The receipt of one accepted message.
#[must_use]
pub fn receipt(sent: &Sent, recipient_state: String) -> SendResponse {
    SendResponse {
        id: sent.id.0,
        duplicate: match sent.novelty {
            Novelty::New => false,
            Novelty::Duplicate => true,
        },
        recipient_state,
        deliveries: Vec::new(),
    }
}

/// What became of a send; `state` names the shown state of a recipient.
pub fn delivered(delivered: Delivered, state: impl Fn(&Sent) -> String) -> SendResponse {
    match delivered {
        Delivered::One(sent) => receipt(&sent, state(&sent)),
        Delivered::All(each) => {
            let first = each.iter().find_map(|(_, result)| result.as_ref().ok());
            let head = first.map(|sent| receipt(sent, String::new()));
            let deliveries = each.into_iter().map(|(to, result)| match result {
                Ok(sent) => v1::Delivery {
                    to,
                    id: sent.id.0,
                    error: None,
                },
                Err(error) => v1::Delivery {
                    to,
                    id: 0,
                    error: Some(error.refusal().detail()),
                },
            });
            SendResponse {
                deliveries: deliveries.collect(),
                ..head.unwrap_or_default()
            }
        }
    }
}
