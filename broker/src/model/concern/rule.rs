//! What a row of the table holds, and what an event of its kind has to tell.

use hive_proto::ids::UnixMs;
use serde_json::Value;

use super::table::{RULES, told};
use crate::model::event::Kind;

/// What waits, or went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Concern {
    Approval,
    Question,
    ReminderFailed,
    Message,
    Dead,
    Stalled,
    FailedAgent,
    NeedsLogin,
    Purge,
    Disk,
    NotificationDead,
}

/// How much it hurts to let it wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Somebody or something stands still until the operator acts.
    High,
    /// Something went wrong, and the rest goes on.
    Normal,
}

/// One kind.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub concern: Concern,
    /// As shown in `hive status`, in hive.toml's `on` and in notifications.
    pub word: &'static str,
    pub urgency: Urgency,
    /// One of them, as the title says it; the number goes before the plural.
    pub one: &'static str,
    pub many: &'static str,
    /// What happened when it began to wait; none: it is shown and never told.
    pub opens: &'static [Kind],
    /// What happened when it waits no longer; what was not told by then is not told any more.
    pub closes: &'static [Kind],
    /// The same thing is not told again within this time.
    pub quiet_ms: i64,
    /// What an opening event has to tell; none when it is not for the operator.
    pub tell: fn(&Happening<'_>) -> Option<Told>,
    /// What a closing event ends; none when it ends nothing.
    pub ends: fn(&Happening<'_>) -> Option<String>,
}

/// One event, read.
#[derive(Clone, Copy, Debug)]
pub struct Happening<'a> {
    pub at: UnixMs,
    /// Empty when it is about none.
    pub agent: &'a str,
    pub data: &'a Value,
}

/// What the operator is told of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Names the thing among those of its kind.
    pub subject: String,
    /// Its id; 0 for none.
    pub id: i64,
    /// In hive's own words; nothing of what an agent wrote.
    pub text: String,
    /// Not told before this time.
    pub due: UnixMs,
}

// === impl Concern ===

impl Concern {
    /// Its row.
    #[must_use]
    pub fn rule(self) -> &'static Rule {
        // The table has a row for every variant, which a test checks.
        RULES
            .iter()
            .find(|rule| rule.concern == self)
            .unwrap_or(&RULES[0])
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        self.rule().word
    }

    /// The one of that word, if it can be told off-screen.
    #[must_use]
    pub fn told(word: &str) -> Option<Self> {
        told()
            .find(|rule| rule.word == word)
            .map(|rule| rule.concern)
    }
}

// === impl Happening ===

impl Happening<'_> {
    pub(super) fn text(&self, key: &str) -> &str {
        self.data[key].as_str().unwrap_or_default()
    }

    pub(super) fn number(&self, key: &str) -> Option<i64> {
        self.data[key].as_i64()
    }

    /// Told at once.
    pub(super) fn now(&self, subject: impl Into<String>, id: i64, text: String) -> Option<Told> {
        Some(Told {
            subject: subject.into(),
            id,
            text,
            due: self.at,
        })
    }
}
