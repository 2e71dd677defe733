//! Looking at reminders, cancelling them, trying failed ones again.

use hive_proto::ids::{AgentId, ReminderId};
use hive_proto::name::{AgentName, NameError};
use hive_proto::words;

use super::error::{ReminderError, split};
use super::set::Reminders;
use crate::model::reminder::{Event, State, next};
use crate::questions::Decider;
use crate::store::reminders::{self as table, Owner, ReminderRow};
use crate::store::{Conn, StoreError, Tx, roster};
use crate::topology;

/// Which reminders are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Those that have neither fired nor been cancelled.
    Unfinished,
    Everything,
}

/// Rows of a listing when none are asked for, and at the most.
const LIST_ROWS: (u32, u32) = (50, 500);

// === impl Reminders ===

impl Reminders {
    /// Reminders of one living agent, or of all when `agent` is empty; oldest first.
    ///
    /// # Errors
    /// An unknown agent, the store's failure.
    pub async fn list(
        &self,
        agent: String,
        listing: Listing,
        limit: u32,
    ) -> Result<Vec<ReminderRow>, ReminderError> {
        let limit = match limit {
            0 => LIST_ROWS.0,
            some => some.min(LIST_ROWS.1),
        };
        self.store
            .read(move |conn| split(list(conn, &agent, listing, limit)))
            .await?
    }

    /// One reminder.
    ///
    /// # Errors
    /// When it does not exist, the store's failure.
    pub async fn get(&self, id: ReminderId) -> Result<ReminderRow, ReminderError> {
        let found = self.store.read(move |conn| table::find(conn, id)).await?;
        found.ok_or(ReminderError::NoSuchReminder(id))
    }

    /// Cancels one that has neither fired nor been cancelled.
    ///
    /// # Errors
    /// When it is not the caller's to cancel, when it is over; the store.
    pub async fn cancel(&self, by: Decider, id: ReminderId) -> Result<ReminderRow, ReminderError> {
        self.store
            .write(move |tx| split(cancel_for(tx, by, id)))
            .await?
    }

    /// Has a failed one tried again at once, its tries forgotten.
    ///
    /// # Errors
    /// When it does not exist or has not failed; the store.
    pub async fn retry(&self, id: ReminderId) -> Result<ReminderRow, ReminderError> {
        self.store.write(move |tx| split(retry(tx, id))).await?
    }

    /// The failed ones of living agents.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn failed(&self) -> Result<Vec<ReminderRow>, StoreError> {
        self.store.read(table::failed).await
    }
}

/// Cancels inside a transaction.
///
/// # Errors
/// See [`Reminders::cancel`].
pub fn cancel_for(
    tx: &mut Tx<'_>,
    by: Decider,
    id: ReminderId,
) -> Result<ReminderRow, ReminderError> {
    let row = existing(tx, id)?;
    let by = match by {
        Decider::Operator => "operator".to_owned(),
        Decider::Agent(agent) => {
            if agent != row.agent && !topology::manages(tx.conn(), agent, row.agent)? {
                let agent = row.agent_name;
                return Err(ReminderError::NotYours { id, agent });
            }
            roster::member(tx.conn(), agent)?.map_or_else(String::new, |member| member.name)
        }
    };
    // Its reply was lost, or two had the same thought.
    if row.life() == State::Cancelled {
        return Ok(row);
    }
    if next(row.life(), Event::Cancel).is_err() {
        return Err(wrong_state(&row));
    }
    table::cancel(tx, &row, &by)?;
    existing(tx, id)
}

/// Nobody will ever read them.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn owner_is_purged(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    for row in table::unfinished(tx.conn(), Owner::Agent(agent))? {
        table::cancel(tx, &row, "system")?;
    }
    Ok(())
}

fn retry(tx: &mut Tx<'_>, id: ReminderId) -> Result<ReminderRow, ReminderError> {
    let row = existing(tx, id)?;
    if next(row.life(), Event::Retry).is_err() {
        return Err(wrong_state(&row));
    }
    table::retry(tx, &row)?;
    existing(tx, id)
}

fn list(
    conn: &Conn,
    agent: &str,
    listing: Listing,
    limit: u32,
) -> Result<Vec<ReminderRow>, ReminderError> {
    let owner = match agent {
        "" => Owner::Anyone,
        name => Owner::Agent(living(conn, name)?),
    };
    let unfinished = table::unfinished(conn, owner)?;
    if listing == Listing::Unfinished {
        return Ok(unfinished);
    }
    let mut rows = table::newest(conn, owner, limit)?;
    // Unfinished ones are never left out, however old.
    let first = rows.first().map(|row| row.id);
    let older = unfinished.into_iter().filter(|row| Some(row.id) < first);
    let mut all: Vec<_> = older.collect();
    all.append(&mut rows);
    Ok(all)
}

fn living(conn: &Conn, name: &str) -> Result<AgentId, ReminderError> {
    let unknown = || ReminderError::NoSuchAgent(name.chars().take(40).collect());
    let name: AgentName = name.parse().map_err(|_: NameError| unknown())?;
    Ok(roster::named(conn, &name)?.ok_or_else(unknown)?.id)
}

fn existing(tx: &Tx<'_>, id: ReminderId) -> Result<ReminderRow, ReminderError> {
    table::find(tx.conn(), id)?.ok_or(ReminderError::NoSuchReminder(id))
}

fn wrong_state(row: &ReminderRow) -> ReminderError {
    ReminderError::WrongState {
        id: row.id,
        state: words::reminder_state(row.state),
    }
}
