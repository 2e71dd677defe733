//! What the stream and the process leave of a turn: all that its outcome depends on.

use std::time::Duration;

use super::protocol::{ApiRetry, ResultLine};

/// What was asked of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prompt,
    Compact,
}

/// Why hive ended the turn before the program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Cancelled,
    Silent(Duration),
    Wall(Duration),
    /// The provider asked to wait for longer than a turn should be held.
    RateLimited,
    /// hive's own tools are not there.
    ToolsLost(String),
    /// The program did not become ready.
    NotReady(Duration),
}

/// How the process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Death {
    /// `None` after a signal.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// The end of what it printed to stderr.
    pub(super) stderr: String,
}

/// Everything that decides the outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub(super) kind: Kind,
    pub(super) stop: Option<Stop>,
    pub(super) result: Option<ResultLine>,
    pub(super) death: Option<Death>,
    pub(super) last_retry: Option<ApiRetry>,
    /// When `last_retry` came, Unix milliseconds.
    pub(super) retry_at_ms: i64,
    /// A usage limit was reported, with its end in Unix seconds, where told.
    pub(super) limit: Option<Option<i64>>,
    pub(super) compacted: bool,
    pub(super) compact_error: String,
}

// === impl Facts ===

impl Facts {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            stop: None,
            result: None,
            death: None,
            last_retry: None,
            retry_at_ms: 0,
            limit: None,
            compacted: false,
            compact_error: String::new(),
        }
    }
}
