//! The rows: one kind of concern each.

use super::rule::{Concern, Rule, Urgency};
use super::sentences::{
    approval, by_agent, by_id, dead, disk, failed_agent, needs_login, nothing, notification_dead,
    purge, question, reminder_failed, stalled,
};
use crate::model::event::Kind;

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

/// Those that are told off-screen.
pub fn told() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| !rule.opens.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hive_proto::ids::UnixMs;
    use serde_json::{Value, json};

    use super::super::{Concern, Happening, RULES, told};

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
        let docs = include_str!("../../../../docs/notifications.md");
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
