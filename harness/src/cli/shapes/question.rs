//! Questions and reminders as JSON documents.

use hive_proto::{v1, words};
use serde::Serialize;

use super::super::when;
use super::absent::{id, text};

/// What an agent asked.
#[derive(Debug, Serialize)]
pub(in super::super) struct Question {
    id: i64,
    asker: String,
    target: String,
    question: String,
    options: Vec<String>,
    multi: bool,
    state: &'static str,
    asked_at: Option<String>,
    deadline_at: Option<String>,
    answer: Option<String>,
    answerer: Option<String>,
    finished_at: Option<String>,
}

/// A message of an agent to itself, for later.
#[derive(Debug, Serialize)]
pub(in super::super) struct Reminder {
    id: i64,
    agent: String,
    body: String,
    due_at: Option<String>,
    attempts: u32,
    state: &'static str,
    set_at: Option<String>,
    not_before: Option<String>,
    error: Option<String>,
    message: Option<i64>,
    finished_at: Option<String>,
}

// === impl Question ===

impl From<&v1::Question> for Question {
    fn from(question: &v1::Question) -> Self {
        Self {
            id: question.id,
            asker: question.asker.clone(),
            target: question.target.clone(),
            question: question.question.clone(),
            options: question.options.clone(),
            multi: question.multi,
            state: words::question_state(question.state()),
            asked_at: when::json(question.asked_at_ms),
            deadline_at: when::json(question.deadline_at_ms),
            answer: text(&question.answer),
            answerer: text(&question.answerer),
            finished_at: when::json(question.finished_at_ms),
        }
    }
}

// === impl Reminder ===

impl From<&v1::Reminder> for Reminder {
    fn from(reminder: &v1::Reminder) -> Self {
        Self {
            id: reminder.id,
            agent: reminder.agent.clone(),
            body: reminder.body.clone(),
            due_at: when::json(reminder.due_at_ms),
            attempts: reminder.attempts,
            state: words::reminder_state(reminder.state()),
            set_at: when::json(reminder.set_at_ms),
            not_before: when::json(reminder.not_before_ms),
            error: text(&reminder.error),
            message: id(reminder.message_id),
            finished_at: when::json(reminder.finished_at_ms),
        }
    }
}
