//! Questions, reminders and loose ends on the wire.

use hive_proto::ids::UnixMs;
use hive_proto::v1;

use crate::loose_ends::LooseEnd;
use crate::questions::{Choice, QuestionRow, Waited};
use crate::reminders::ReminderRow;

impl From<QuestionRow> for v1::Question {
    fn from(row: QuestionRow) -> Self {
        Self {
            id: row.id.0,
            asker: row.asker_name,
            target: row.target_name,
            question: row.question,
            options: row.options,
            multi: match row.choice {
                Choice::One => false,
                Choice::Many => true,
            },
            state: row.state.into(),
            asked_at_ms: row.asked_at.0,
            deadline_at_ms: ms(row.deadline_at),
            answer: row.answer,
            answerer: row.answerer,
            finished_at_ms: ms(row.finished_at),
        }
    }
}

impl From<Waited> for v1::WaitAnswerResponse {
    fn from(waited: Waited) -> Self {
        Self {
            question: Some(waited.question.into()),
            message_id: waited.message.map_or(0, |id| id.0),
        }
    }
}

impl From<ReminderRow> for v1::Reminder {
    fn from(row: ReminderRow) -> Self {
        Self {
            id: row.id.0,
            agent: row.agent_name,
            body: row.body,
            due_at_ms: row.due_at.0,
            attempts: row.attempts,
            state: row.state.into(),
            set_at_ms: row.set_at.0,
            not_before_ms: ms(row.not_before),
            error: row.error,
            message_id: row.message.map_or(0, |id| id.0),
            finished_at_ms: ms(row.finished_at),
        }
    }
}

impl From<LooseEnd> for v1::LooseEnd {
    fn from(end: LooseEnd) -> Self {
        Self {
            kind: end.kind.word().to_owned(),
            id: end.id,
            agent: end.agent,
            waits_for: end.waits_for,
            state: end.state.to_owned(),
            text: end.text,
            since_ms: end.since.0,
            due_ms: ms(end.due),
        }
    }
}

/// 0 stands for "not yet".
fn ms(at: Option<UnixMs>) -> i64 {
    at.map_or(0, |at| at.0)
}
