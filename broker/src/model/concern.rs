//! What can wait for the operator: one row a kind, in one table. `hive status` names all of them; those
//! with events that open them are also told off-screen (`notify/`).
//!
//! Adding a kind is adding a row: the events that open and close it, and the sentence that tells it.

use hive_proto::ids::UnixMs;
use serde_json::Value;

use super::event::Kind;

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

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The table.
pub const RULES: &[Rule] = &[
    Rule {
        concern: Concern::Approval,
        word: "approval",
        urgency: Urgency::High,
        one: "an approval waits for you",
        many: "approvals wait for you",
        opens: &[Kind::ApprovalRequested],
        closes: &[
            Kind::ApprovalApproved,
            Kind::ApprovalDenied,
            Kind::ApprovalCancelled,
            Kind::ApprovalExpired,
        ],
        quiet_ms: 0,
        tell: approval,
        ends: by_id,
    },
    Rule {
        concern: Concern::Question,
        word: "question",
        urgency: Urgency::High,
        one: "a question waits for you",
        many: "questions wait for you",
        opens: &[Kind::QuestionAsked],
        closes: &[
            Kind::QuestionAnswered,
            Kind::QuestionExpired,
            Kind::QuestionCancelled,
        ],
        quiet_ms: 0,
        tell: question,
        ends: by_id,
    },
    Rule {
        concern: Concern::ReminderFailed,
        word: "reminder_failed",
        urgency: Urgency::Normal,
        one: "a reminder could not be delivered",
        many: "reminders could not be delivered",
        opens: &[Kind::ReminderFailed],
        closes: &[Kind::ReminderRetried, Kind::ReminderCancelled],
        quiet_ms: 0,
        tell: reminder_failed,
        ends: by_id,
    },
    Rule {
        concern: Concern::Message,
        word: "message",
        urgency: Urgency::Normal,
        one: "a message is unread",
        many: "messages are unread",
        opens: &[],
        closes: &[],
        quiet_ms: 0,
        tell: nothing,
        ends: by_id,
    },
    Rule {
        concern: Concern::Dead,
        word: "dead",
        urgency: Urgency::Normal,
        one: "a message is dead",
        many: "messages are dead",
        opens: &[Kind::MessageDead],
        closes: &[Kind::MessageRevived],
        quiet_ms: 0,
        tell: dead,
        ends: by_id,
    },
    Rule {
        concern: Concern::Stalled,
        word: "stalled",
        urgency: Urgency::Normal,
        one: "an agent takes no messages",
        many: "agents take no messages",
        opens: &[Kind::MessageStalled],
        closes: &[],
        quiet_ms: HOUR_MS,
        tell: stalled,
        ends: by_agent,
    },
    Rule {
        concern: Concern::FailedAgent,
        word: "failed_agent",
        urgency: Urgency::High,
        one: "an agent has failed",
        many: "agents have failed",
        opens: &[Kind::AgentFailed],
        closes: &[Kind::AgentDesired, Kind::AgentRemoved],
        quiet_ms: 0,
        tell: failed_agent,
        ends: by_agent,
    },
    Rule {
        concern: Concern::NeedsLogin,
        word: "needs_login",
        urgency: Urgency::High,
        one: "an agent needs a login",
        many: "agents need a login",
        opens: &[Kind::AgentState],
        closes: &[Kind::AgentState, Kind::AgentRemoved],
        // It tries again by itself every minute, and is shown as something else meanwhile.
        quiet_ms: HOUR_MS,
        tell: needs_login,
        ends: by_agent,
    },
    Rule {
        concern: Concern::Purge,
        word: "purge",
        urgency: Urgency::Normal,
        one: "an agent cannot be purged",
        many: "agents cannot be purged",
        opens: &[Kind::AgentPurgeFailed],
        closes: &[Kind::AgentPurged],
        quiet_ms: HOUR_MS,
        tell: purge,
        ends: by_agent,
    },
    Rule {
        concern: Concern::Disk,
        word: "disk",
        urgency: Urgency::High,
        one: "the disk is filling up",
        many: "warnings that the disk is filling up",
        opens: &[Kind::DiskLow],
        closes: &[Kind::DiskOk],
        quiet_ms: 0,
        tell: disk,
        ends: by_agent,
    },
    Rule {
        concern: Concern::NotificationDead,
        word: "notification_dead",
        urgency: Urgency::Normal,
        one: "a notification could not be delivered",
        many: "notifications could not be delivered",
        opens: &[Kind::NotifyDead],
        closes: &[Kind::NotifyRetried],
        quiet_ms: 0,
        tell: notification_dead,
        ends: by_id,
    },
];

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

/// Those that are told off-screen.
pub fn told() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| !rule.opens.is_empty())
}

// === impl Happening ===

impl Happening<'_> {
    fn text(&self, key: &str) -> &str {
        self.data[key].as_str().unwrap_or_default()
    }

    fn number(&self, key: &str) -> Option<i64> {
        self.data[key].as_i64()
    }

    /// Told at once.
    fn now(&self, subject: impl Into<String>, id: i64, text: String) -> Option<Told> {
        Some(Told {
            subject: subject.into(),
            id,
            text,
            due: self.at,
        })
    }
}

fn nothing(_: &Happening<'_>) -> Option<Told> {
    None
}

fn by_id(event: &Happening<'_>) -> Option<String> {
    event.number("id").map(|id| id.to_string())
}

/// Also for what there is one of: it is about no agent.
fn by_agent(event: &Happening<'_>) -> Option<String> {
    Some(event.agent.to_owned())
}

fn approval(event: &Happening<'_>) -> Option<Told> {
    let id = event.number("id")?;
    let text = format!(
        "{} asks for approval {id} ({}); `hive approval show {id}`",
        event.agent,
        event.text("kind")
    );
    event.now(id.to_string(), id, text)
}

/// One to the operator: at once, or after half of the time that it gives.
fn question(event: &Happening<'_>) -> Option<Told> {
    if event.text("target") != "operator" {
        return None;
    }
    let id = event.number("id")?;
    let half = event
        .number("deadline_ms")
        .map_or(0, |deadline| deadline.saturating_sub(event.at.0).max(0) / 2);
    Some(Told {
        subject: id.to_string(),
        id,
        text: format!(
            "{} asks question {id}; `hive answer {id} TEXT`",
            event.agent
        ),
        due: event.at.plus_ms(half),
    })
}

fn reminder_failed(event: &Happening<'_>) -> Option<Told> {
    if event.data["final"] != true {
        return None;
    }
    let id = event.number("id")?;
    let text = format!(
        "reminder {id} of {} could not be delivered: {}; `hive reminder retry {id}`",
        event.agent,
        event.text("why")
    );
    event.now(id.to_string(), id, text)
}

fn dead(event: &Happening<'_>) -> Option<Told> {
    let id = event.number("id")?;
    let text = format!(
        "message {id} to {} is dead: {}; `hive dead requeue {id}` runs it again",
        event.agent,
        event.text("why")
    );
    event.now(id.to_string(), id, text)
}

fn stalled(event: &Happening<'_>) -> Option<Told> {
    let waited_ms = event
        .number("since_ms")
        .map_or(0, |since| (event.at.0 - since).max(0));
    let text = format!(
        "{} has taken no message for {} minutes; `hive agent show {0}` says why",
        event.agent,
        waited_ms / 60_000
    );
    event.now(event.agent, 0, text)
}

fn failed_agent(event: &Happening<'_>) -> Option<Told> {
    let text = format!(
        "{} has failed: {}; `hive logs {0}`, then `hive agent start {0}`",
        event.agent,
        event.text("why")
    );
    event.now(event.agent, 0, text)
}

fn needs_login(event: &Happening<'_>) -> Option<Told> {
    if event.text("state") != "needs_login" {
        return None;
    }
    let text = format!("{} needs a login: the model refused its key", event.agent);
    event.now(event.agent, 0, text)
}

fn purge(event: &Happening<'_>) -> Option<Told> {
    let text = format!(
        "what {} had cannot be deleted: {}",
        event.agent,
        event.text("why")
    );
    event.now(event.agent, 0, text)
}

fn disk(event: &Happening<'_>) -> Option<Told> {
    // Some room was made, not yet enough: nothing new.
    if event.text("was") == "full" {
        return None;
    }
    let mib = event.number("free_bytes").unwrap_or_default() / (1024 * 1024);
    let text = match event.text("level") {
        "full" => format!("{mib} MiB are left on the hive's disk: soon nothing can be stored"),
        _ => format!("{mib} MiB are left on the hive's disk"),
    };
    event.now(event.agent, 0, text)
}

fn notification_dead(event: &Happening<'_>) -> Option<Told> {
    // Two channels that are both broken must not tell each other about it for ever.
    if event.text("kind") == "notification_dead" {
        return None;
    }
    let id = event.number("id")?;
    let text = format!(
        "notification {id} ({}) could not be delivered by {}; `hive notify ls` says why",
        event.text("kind"),
        event.text("channel")
    );
    event.now(id.to_string(), id, text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hive_proto::ids::UnixMs;
    use serde_json::{Value, json};

    use super::{Concern, Happening, RULES, told};

    fn tell(concern: Concern, agent: &str, data: &Value) -> Option<String> {
        let event = Happening {
            at: UnixMs(1),
            agent,
            data,
        };
        (concern.rule().tell)(&event).map(|told| told.text)
    }

    #[test]
    fn every_kind_has_one_row_and_every_told_one_a_sentence() {
        let words: HashSet<_> = RULES.iter().map(|rule| rule.word).collect();
        assert_eq!(words.len(), RULES.len());
        for rule in RULES {
            assert_eq!(rule.concern.rule().word, rule.word);
        }
        // What holds everything that any of the sentences needs.
        let data = json!({"id": 7, "why": "crashed", "state": "needs_login", "level": "low",
            "free_bytes": 1 << 30, "kind": "dead", "channel": "phone", "final": true,
            "target": "operator"});
        for rule in told() {
            let text = tell(rule.concern, "bee", &data).unwrap();
            assert!(!text.is_empty() && !text.starts_with('-'), "{text}");
        }
        let docs = include_str!("../../../docs/notifications.md");
        for rule in RULES {
            assert!(
                docs.contains(&format!("| `{}` |", rule.word)),
                "{}",
                rule.word
            );
        }
    }

    #[test]
    fn a_stalled_message_is_told_with_how_long_it_has_waited() {
        let told = |since_ms: i64| tell(Concern::Stalled, "bee", &json!({"since_ms": since_ms}));
        assert!(told(1 - 7 * 60_000).unwrap().contains("for 7 minutes"));
        // A clock that was set back makes no time negative.
        assert!(told(2).unwrap().contains("for 0 minutes"));
    }

    #[test]
    fn other_states_than_needs_login_are_not_told() {
        let state = |word: &str| json!({"state": word, "detail": ""});
        assert!(tell(Concern::NeedsLogin, "bee", &state("idle")).is_none());
        assert!(tell(Concern::NeedsLogin, "bee", &state("needs_login")).is_some());
    }

    #[test]
    fn a_question_is_told_at_once_or_after_half_of_its_time_and_only_to_the_operator() {
        let due = |data: &Value| {
            let event = Happening {
                at: UnixMs(1_000),
                agent: "bee",
                data,
            };
            (Concern::Question.rule().tell)(&event).map(|told| told.due.0)
        };
        let open = json!({"id": 1, "target": "operator", "deadline_ms": null});
        let timed = json!({"id": 1, "target": "operator", "deadline_ms": 901_000});
        let peers = json!({"id": 1, "target": "scout", "deadline_ms": null});
        assert_eq!(due(&open), Some(1_000));
        assert_eq!(due(&timed), Some(451_000));
        assert_eq!(due(&peers), None);
    }

    #[test]
    fn the_death_of_a_notice_about_a_dead_one_is_not_told() {
        let of = |kind: &str| json!({"id": 1, "kind": kind, "channel": "a"});
        assert!(tell(Concern::NotificationDead, "", &of("approval")).is_some());
        assert!(tell(Concern::NotificationDead, "", &of("notification_dead")).is_none());
    }
}
