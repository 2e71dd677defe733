//! Kinds of events, and how long each is kept. What their data holds is in docs/events.md.

/// How long an event is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Comes and goes with ordinary running: 14 days.
    Stream,
    /// Somebody may ask what happened: 90 days.
    Semantic,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $keep:ident;)+) => {
        /// What happened, as one word with a dot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $($(#[$doc])* $variant,)+
        }

        impl Kind {
            /// Every kind, in the order of this file.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that is stored and shown.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// How long it is kept.
            #[must_use]
            pub fn keep(self) -> Keep {
                match self {
                    $(Self::$variant => Keep::$keep),+
                }
            }
        }
    };
}

kinds! {
    MessageQueued = "message.queued", Semantic;
    MessageLeased = "message.leased", Semantic;
    /// The rows of an open turn were handed to the same session once more.
    MessageRehanded = "message.rehanded", Semantic;
    MessageAcked = "message.acked", Semantic;
    MessageRequeued = "message.requeued", Semantic;
    MessageDead = "message.dead", Semantic;
    /// The operator put a dead message back.
    MessageRevived = "message.revived", Semantic;
    MessageStalled = "message.stalled", Semantic;
    TurnStarted = "turn.started", Semantic;
    TurnEnded = "turn.ended", Semantic;
    /// A fenced session tried to end its turn: audit.
    TurnRefused = "turn.refused", Semantic;
    SessionOpened = "session.opened", Stream;
    SessionResumed = "session.resumed", Stream;
    SessionFenced = "session.fenced", Semantic;
    SessionLost = "session.lost", Semantic;
    /// What the harness says it is doing has changed.
    SessionState = "session.state", Stream;
    AgentCreated = "agent.created", Semantic;
    AgentDesired = "agent.desired", Semantic;
    AgentPaused = "agent.paused", Semantic;
    AgentResumed = "agent.resumed", Semantic;
    AgentRestarted = "agent.restarted", Semantic;
    /// The runtime held something of an agent that the database does not know: audit.
    AgentOrphanEnded = "agent.orphan_ended", Semantic;
    AgentFailed = "agent.failed", Semantic;
    AgentStatus = "agent.status", Stream;
    AgentRemoved = "agent.removed", Semantic;
    /// Nothing that a purged agent had is left.
    AgentPurged = "agent.purged", Semantic;
    AgentPurgeFailed = "agent.purge_failed", Semantic;
    /// Another parent.
    AgentMoved = "agent.moved", Semantic;
    /// Whom it may write to, which tools it has.
    AgentRights = "agent.rights", Semantic;
    /// The shown state has changed.
    AgentState = "agent.state", Stream;
    /// The gateway answered a model call.
    ModelCall = "model.call", Stream;
    ApprovalRequested = "approval.requested", Semantic;
    ApprovalApproved = "approval.approved", Semantic;
    ApprovalDenied = "approval.denied", Semantic;
    ApprovalCancelled = "approval.cancelled", Semantic;
    ApprovalExpired = "approval.expired", Semantic;
    /// Its effect was carried out.
    ApprovalDone = "approval.done", Semantic;
    ApprovalFailed = "approval.failed", Semantic;
    ScheduleCreated = "schedule.created", Semantic;
    ScheduleEdited = "schedule.edited", Semantic;
    ScheduleCancelled = "schedule.cancelled", Semantic;
    ScheduleFired = "schedule.fired", Semantic;
    ScheduleSkipped = "schedule.skipped", Semantic;
    QuestionAsked = "question.asked", Semantic;
    QuestionAnswered = "question.answered", Semantic;
    QuestionExpired = "question.expired", Semantic;
    QuestionCancelled = "question.cancelled", Semantic;
    ReminderSet = "reminder.set", Semantic;
    ReminderFired = "reminder.fired", Semantic;
    /// A try failed; `final` when it was the last one.
    ReminderFailed = "reminder.failed", Semantic;
    /// The operator put a failed one back.
    ReminderRetried = "reminder.retried", Semantic;
    ReminderCancelled = "reminder.cancelled", Semantic;
    /// Too little room is left where the hive's data lie.
    DiskLow = "disk.low", Semantic;
    DiskOk = "disk.ok", Semantic;
    NotifySent = "notify.sent", Stream;
    /// A try failed; there will be another one.
    NotifyFailed = "notify.failed", Stream;
    /// A notification was given up.
    NotifyDead = "notify.dead", Semantic;
    /// The operator gave it all its tries again.
    NotifyRetried = "notify.retried", Semantic;
    /// Somebody who is no operator called on the operator socket: audit.
    OperatorRefused = "operator.refused", Semantic;
    /// A call was refused for lack of a right: audit.
    CallRefused = "call.refused", Semantic;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Kind;

    #[test]
    fn words_are_unique_and_every_kind_is_documented() {
        let words: HashSet<_> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        assert_eq!(words.len(), Kind::ALL.len());
        let docs = include_str!("../../../docs/events.md");
        for word in words {
            assert!(
                docs.contains(&format!("| `{word}` |")),
                "docs/events.md lacks {word}"
            );
        }
    }
}
