//! Enum ⇄ the snake_case words that are stored, printed and documented.

use crate::v1::{
    ApprovalState, FailureClass, HarnessState, MessageState, Misfire, Outcome, Overlap,
    QuestionState, ReminderState, Role, ScheduleState, ToolGroup,
};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $parse:ident, $ty:ty { $($variant:path => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(value: $ty) -> &'static str {
            match value {
                $($variant => $word),+
            }
        }

        #[doc = concat!("The reverse of [`", stringify!($name), "`].")]
        #[must_use]
        pub fn $parse(word: &str) -> Option<$ty> {
            match word {
                $($word => Some($variant),)+
                _ => None,
            }
        }
    };
}

words!(
    /// Word of an agent's role.
    role, parse_role, Role {
        Role::Unspecified => "",
        Role::Agent => "agent",
        Role::Manager => "manager",
    }
);
words!(
    /// Word of a group of tools.
    tool_group, parse_tool_group, ToolGroup {
        ToolGroup::Unspecified => "",
        ToolGroup::Questions => "questions",
        ToolGroup::Reminders => "reminders",
        ToolGroup::Scheduling => "scheduling",
    }
);
words!(
    /// Word of a message's state.
    message_state, parse_message_state, MessageState {
        MessageState::Unspecified => "",
        MessageState::Queued => "queued",
        MessageState::Leased => "leased",
        MessageState::Acked => "acked",
        MessageState::Dead => "dead",
    }
);
words!(
    /// Word of a question's state.
    question_state, parse_question_state, QuestionState {
        QuestionState::Unspecified => "",
        QuestionState::Open => "open",
        QuestionState::Answered => "answered",
        QuestionState::Expired => "expired",
        QuestionState::Cancelled => "cancelled",
    }
);
words!(
    /// Word of a reminder's state.
    reminder_state, parse_reminder_state, ReminderState {
        ReminderState::Unspecified => "",
        ReminderState::Pending => "pending",
        ReminderState::Fired => "fired",
        ReminderState::Failed => "failed",
        ReminderState::Cancelled => "cancelled",
    }
);
words!(
    /// Word of a turn's outcome; empty while it runs.
    outcome, parse_outcome, Outcome {
        Outcome::Unspecified => "",
        Outcome::Ok => "ok",
        Outcome::Compacted => "compacted",
        Outcome::RateLimited => "rate_limited",
        Outcome::AuthFailed => "auth_failed",
        Outcome::BudgetExhausted => "budget_exhausted",
        Outcome::Cancelled => "cancelled",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed => "failed",
        Outcome::Lost => "lost",
    }
);
words!(
    /// Word of a failure's class; empty for none.
    failure, parse_failure, FailureClass {
        FailureClass::Unspecified => "",
        FailureClass::Overloaded => "overloaded",
        FailureClass::Network => "network",
        FailureClass::Crashed => "crashed",
        FailureClass::Timeout => "timeout",
        FailureClass::Config => "config",
        FailureClass::Refused => "refused",
        FailureClass::ContextFull => "context_full",
        FailureClass::BadSession => "bad_session",
    }
);
words!(
    /// Word of what a harness says it does.
    harness_state, parse_harness_state, HarnessState {
        HarnessState::Unspecified => "",
        HarnessState::Idle => "idle",
        HarnessState::Thinking => "thinking",
        HarnessState::Compacting => "compacting",
        HarnessState::RateLimited => "rate_limited",
        HarnessState::NeedsLogin => "needs_login",
        HarnessState::BudgetExhausted => "budget_exhausted",
        HarnessState::Paused => "paused",
        HarnessState::Stopping => "stopping",
    }
);
words!(
    /// Word of an approval's state.
    approval_state, parse_approval_state, ApprovalState {
        ApprovalState::Unspecified => "",
        ApprovalState::Pending => "pending",
        ApprovalState::Approved => "approved",
        ApprovalState::Done => "done",
        ApprovalState::Failed => "failed",
        ApprovalState::Denied => "denied",
        ApprovalState::Cancelled => "cancelled",
        ApprovalState::Expired => "expired",
    }
);
words!(
    /// Word of a schedule's state.
    schedule_state, parse_schedule_state, ScheduleState {
        ScheduleState::Unspecified => "",
        ScheduleState::Active => "active",
        ScheduleState::Done => "done",
        ScheduleState::Cancelled => "cancelled",
    }
);
words!(
    /// Word of what becomes of slots that have passed.
    misfire, parse_misfire, Misfire {
        Misfire::Unspecified => "",
        Misfire::Once => "once",
        Misfire::Skip => "skip",
    }
);
words!(
    /// Word of what becomes of a slot while the last one's message is not finished.
    overlap, parse_overlap, Overlap {
        Overlap::Unspecified => "",
        Overlap::Queue => "queue",
        Overlap::Skip => "skip",
    }
);
