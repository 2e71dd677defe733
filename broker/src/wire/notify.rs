//! Notifications on the wire.

use hive_proto::v1;

use crate::model::notification::State;
use crate::notify::{OutboxRow, Tried, words};

impl From<OutboxRow> for v1::Notification {
    fn from(row: OutboxRow) -> Self {
        let (state, next_at_ms) = match row.state {
            State::Pending { next_at, .. } => ("pending", next_at.0),
            State::Sent => ("sent", 0),
            State::Dead => ("dead", 0),
        };
        let (title, text) = words(&row);
        Self {
            id: row.id,
            channel: row.channel,
            webhook_id: row.uid,
            kind: row.kind,
            state: state.to_owned(),
            tries: row.tries,
            created_at_ms: row.created_at.0,
            next_at_ms,
            finished_at_ms: row.finished_at.map_or(0, |at| at.0),
            last_error: row.last_error,
            count: row.count,
            title,
            text,
        }
    }
}

impl From<Tried> for v1::NotifyTried {
    fn from(tried: Tried) -> Self {
        Self {
            channel: tried.channel,
            way: tried.way.to_owned(),
            error: tried.error.unwrap_or_default(),
            duration_ms: u32::try_from(tried.took.as_millis()).unwrap_or(u32::MAX),
        }
    }
}
