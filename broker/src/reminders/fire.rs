//! Delivering what is due.

use hive_proto::ids::{MessageId, UnixMs};

use super::set::{Limits, Reminders};
use crate::model::reminder::{Event, next};
use crate::store::messages::{self, NewMessage};
use crate::store::reminders::{self as table, ReminderRow};
use crate::store::{Recipient, StoreError, Tx};

/// Sender of a reminder's message.
const SENDER: &str = "reminder";
/// Reminders of one transaction.
const BATCH: u32 = 100;

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fired {
    pub fired: usize,
    pub refused: usize,
}

// === impl Reminders ===

impl Reminders {
    /// Fires whatever is due. A refused one is tried again after its back-off.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn fire_due(&self) -> Result<Fired, StoreError> {
        let limits = self.limits;
        let mut total = Fired::default();
        loop {
            let one = self.store.write(move |tx| fire_batch(tx, limits)).await?;
            total.fired += one.fired;
            total.refused += one.refused;
            if one.fired + one.refused < BATCH as usize {
                return Ok(total);
            }
        }
    }

    /// When the next one is to be tried.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn next_due(&self) -> Result<Option<UnixMs>, StoreError> {
        self.store.read(table::next_due).await
    }
}

fn fire_batch(tx: &mut Tx<'_>, limits: Limits) -> Result<Fired, StoreError> {
    let mut done = Fired::default();
    for row in table::due(tx.conn(), tx.now(), BATCH)? {
        match messages::full(tx, Recipient::Agent(row.agent), limits.mailbox_rows)? {
            None => {
                fire(tx, &row)?;
                done.fired += 1;
            }
            Some(rows) => {
                refuse(tx, &row, &format!("its mailbox holds {rows} messages"))?;
                done.refused += 1;
            }
        }
    }
    Ok(done)
}

fn fire(tx: &mut Tx<'_>, row: &ReminderRow) -> Result<MessageId, StoreError> {
    next(row.life(), Event::Delivered)
        .map_err(|illegal| StoreError::Illegal(illegal.to_string()))?;
    let new = NewMessage {
        from: SENDER,
        from_id: None,
        to: Recipient::Agent(row.agent),
        body: &row.body,
        in_reply_to: None,
        key: None,
    };
    let message = messages::insert(tx, &new)?;
    table::fire(tx, row, message)?;
    Ok(message)
}

fn refuse(tx: &mut Tx<'_>, row: &ReminderRow, why: &str) -> Result<(), StoreError> {
    let after = next(row.life(), Event::Refused(tx.now()))
        .map_err(|illegal| StoreError::Illegal(illegal.to_string()))?;
    table::refuse(tx, row, after, why)
}
