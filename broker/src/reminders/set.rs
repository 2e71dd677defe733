//! Setting a reminder: every check comes before the first write.

use hive_proto::ids::{AgentId, ReminderId, UnixMs};
use hive_proto::limits;

use super::due;
use super::error::{ReminderError, split};
use crate::inbox::Novelty;
use crate::store::reminders::{self as table, NewReminder};
use crate::store::{Store, Tx};

/// The reminders service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Reminders {
    pub(super) store: Store,
    pub(super) limits: Limits,
}

/// What agents may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Reminders of one agent that have neither fired nor been cancelled.
    pub pending: u32,
    /// Unfinished rows of its mailbox.
    pub mailbox_rows: u32,
    pub body_bytes: usize,
}

/// A reminder to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub body: String,
    /// RFC 3339, Unix seconds, or a span from now.
    pub due: String,
    /// Unique for the agent.
    pub key: Option<String>,
}

/// An accepted reminder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WasSet {
    pub id: ReminderId,
    pub novelty: Novelty,
    pub due_at: UnixMs,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            pending: limits::REMINDERS_PENDING,
            mailbox_rows: limits::MAILBOX_ROWS,
            body_bytes: limits::BODY_BYTES,
        }
    }
}

// === impl Reminders ===

impl Reminders {
    #[must_use]
    pub fn new(store: Store, limits: Limits) -> Self {
        Self { store, limits }
    }

    /// Sets a reminder; it is on disk when this returns.
    ///
    /// # Errors
    /// A refusal, or the store's failure; nothing was set then.
    pub async fn set(&self, agent: AgentId, setting: Setting) -> Result<WasSet, ReminderError> {
        let limits = self.limits;
        check(limits, &setting)?;
        self.store
            .write(move |tx| split(set(tx, limits, agent, &setting)))
            .await?
    }
}

fn check(limits: Limits, setting: &Setting) -> Result<(), ReminderError> {
    let too_long = |what, bytes, most| Err(ReminderError::TooLong { what, bytes, most });
    let bytes = setting.body.len();
    if setting.body.trim().is_empty() {
        return Err(ReminderError::Empty);
    }
    if bytes > limits.body_bytes {
        return too_long("message", bytes, limits.body_bytes);
    }
    match &setting.key {
        Some(key) if key.len() > limits::KEY_BYTES => {
            too_long("idempotency key", key.len(), limits::KEY_BYTES)
        }
        Some(_) | None => Ok(()),
    }
}

fn set(
    tx: &mut Tx<'_>,
    limits: Limits,
    agent: AgentId,
    setting: &Setting,
) -> Result<WasSet, ReminderError> {
    let key = setting.key.as_deref().filter(|key| !key.is_empty());
    // Before anything else: the first call was accepted, and a span from now is another time by now.
    if let Some(key) = key
        && let Some(row) = table::by_key(tx.conn(), agent, key)?
    {
        if row.body != setting.body {
            return Err(ReminderError::KeyConflict(row.id));
        }
        return Ok(WasSet {
            id: row.id,
            novelty: Novelty::Duplicate,
            due_at: row.due_at,
        });
    }
    let due_at = due::parse(&setting.due, tx.now())?;
    let pending = table::unfinished_count(tx.conn(), agent)?;
    if pending >= limits.pending {
        return Err(ReminderError::TooMany { pending });
    }
    let new = NewReminder {
        agent,
        body: &setting.body,
        due_at,
        key,
    };
    Ok(WasSet {
        id: table::insert(tx, &new)?,
        novelty: Novelty::New,
        due_at,
    })
}
