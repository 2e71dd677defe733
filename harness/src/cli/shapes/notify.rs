//! Notifications as JSON documents.

use hive_proto::v1;
use serde::Serialize;

use super::super::when;
use super::absent::text;

/// One notification on one channel.
#[derive(Debug, Serialize)]
pub(in super::super) struct Notification {
    id: i64,
    channel: String,
    webhook_id: String,
    kind: String,
    state: String,
    tries: u32,
    count: u32,
    created_at: Option<String>,
    next_at: Option<String>,
    finished_at: Option<String>,
    last_error: Option<String>,
    title: Option<String>,
    text: Option<String>,
}

/// How a test went on one channel.
#[derive(Debug, Serialize)]
pub(in super::super) struct NotifyTried {
    channel: String,
    way: String,
    ok: bool,
    error: Option<String>,
    duration_ms: u32,
}

// === impl Notification ===

impl From<&v1::Notification> for Notification {
    fn from(one: &v1::Notification) -> Self {
        Self {
            id: one.id,
            channel: one.channel.clone(),
            webhook_id: one.webhook_id.clone(),
            kind: one.kind.clone(),
            state: one.state.clone(),
            tries: one.tries,
            count: one.count,
            created_at: when::json(one.created_at_ms),
            next_at: when::json(one.next_at_ms),
            finished_at: when::json(one.finished_at_ms),
            last_error: text(&one.last_error),
            title: text(&one.title),
            text: text(&one.text),
        }
    }
}

// === impl NotifyTried ===

impl From<&v1::NotifyTried> for NotifyTried {
    fn from(tried: &v1::NotifyTried) -> Self {
        Self {
            channel: tried.channel.clone(),
            way: tried.way.clone(),
            ok: tried.error.is_empty(),
            error: text(&tried.error),
            duration_ms: tried.duration_ms,
        }
    }
}
