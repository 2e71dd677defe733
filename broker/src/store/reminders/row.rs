//! One reminder, as it is stored.

use hive_proto::ids::{AgentId, MessageId, ReminderId, UnixMs};
use hive_proto::v1::ReminderState;
use hive_proto::words;
use rusqlite::Row;

use crate::model::reminder::State;

/// One reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReminderRow {
    pub id: ReminderId,
    pub agent: AgentId,
    pub agent_name: String,
    pub body: String,
    pub due_at: UnixMs,
    pub state: ReminderState,
    /// Tries that failed.
    pub attempts: u32,
    pub not_before: Option<UnixMs>,
    /// Why the last try failed.
    pub error: String,
    /// The message that it became, while it is kept.
    pub message: Option<MessageId>,
    pub set_at: UnixMs,
    /// When it fired, failed or was cancelled.
    pub finished_at: Option<UnixMs>,
}

/// A reminder to be set.
#[derive(Clone, Copy, Debug)]
pub struct NewReminder<'a> {
    pub agent: AgentId,
    pub body: &'a str,
    pub due_at: UnixMs,
    pub key: Option<&'a str>,
}

/// Whose reminders are listed, of those that are neither fired nor cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Anyone,
    Agent(AgentId),
}

pub(super) const COLUMNS: &str =
    "id, agent_id, (SELECT name FROM agents WHERE agents.id = agent_id), body,
    due_at, state, attempts, not_before, error, message_id, set_at, finished_at";

// === impl ReminderRow ===

impl ReminderRow {
    /// Its state as the lifecycle knows it.
    #[must_use]
    pub fn life(&self) -> State {
        match self.state {
            ReminderState::Pending | ReminderState::Unspecified => State::Pending {
                attempts: self.attempts,
                not_before: self.not_before,
            },
            ReminderState::Fired => State::Fired,
            ReminderState::Failed => State::Failed {
                attempts: self.attempts,
            },
            ReminderState::Cancelled => State::Cancelled,
        }
    }
}

/// One row of [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ReminderRow> {
    let state: String = row.get(5)?;
    Ok(ReminderRow {
        id: ReminderId(row.get(0)?),
        agent: AgentId(row.get(1)?),
        agent_name: row.get(2)?,
        body: row.get(3)?,
        due_at: UnixMs(row.get(4)?),
        state: words::parse_reminder_state(&state).ok_or_else(|| {
            let text = format!("unexpected {state:?}");
            rusqlite::Error::FromSqlConversionFailure(5, rusqlite::types::Type::Text, text.into())
        })?,
        attempts: row.get(6)?,
        not_before: row.get::<_, Option<i64>>(7)?.map(UnixMs),
        error: row.get(8)?,
        message: row.get::<_, Option<i64>>(9)?.map(MessageId),
        set_at: UnixMs(row.get(10)?),
        finished_at: row.get::<_, Option<i64>>(11)?.map(UnixMs),
    })
}
