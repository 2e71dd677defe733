//! What `system` tells people and agents: one message a recipient, to whoever is still there.

use hive_proto::ids::MessageId;

use crate::store::messages::{self, Fate, NewMessage};
use crate::store::roster::{self, Life};
use crate::store::{Recipient, StoreError, Tx};

const SYSTEM: &str = "system";

/// Notices of one transaction, one message a recipient.
#[derive(Debug, Default)]
pub(crate) struct Notices(Vec<(Recipient, Vec<String>)>);

// === impl Notices ===

impl Notices {
    /// Adds a line to what the recipient is told, once.
    pub(crate) fn add(&mut self, to: Recipient, line: &str) {
        let lines = match self.0.iter_mut().find(|(known, _)| *known == to) {
            Some((_, lines)) => lines,
            None => {
                self.0.push((to, Vec::new()));
                let Some((_, lines)) = self.0.last_mut() else {
                    return;
                };
                lines
            }
        };
        if !lines.iter().any(|known| known == line) {
            lines.push(line.to_owned());
        }
    }

    /// Queues them; whoever is gone is told nothing.
    pub(crate) fn post(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        for (to, lines) in self.0 {
            if is_gone(tx, to)? {
                continue;
            }
            post_system(tx, to, &lines.join("\n"))?;
        }
        Ok(())
    }
}

/// Queues a message from `system`, whatever else waits there.
///
/// # Errors
/// When the row cannot be written.
pub fn post_system(tx: &mut Tx<'_>, to: Recipient, body: &str) -> Result<MessageId, StoreError> {
    let new = NewMessage {
        from: SYSTEM,
        from_id: None,
        to,
        body,
        in_reply_to: None,
        key: None,
    };
    messages::insert(tx, &new)
}

/// The same, unless the recipient is gone or has not yet taken the last one.
///
/// # Errors
/// When the row cannot be written.
pub(crate) fn remind(tx: &mut Tx<'_>, to: Recipient, body: &str) -> Result<(), StoreError> {
    if !is_gone(tx, to)? && !messages::is_queued(tx.conn(), to, SYSTEM, body)? {
        post_system(tx, to, body)?;
    }
    Ok(())
}

/// Whoever can be told; `system`, reminders and labelled co-processes cannot.
pub(crate) fn sender_of(row: &Fate) -> Option<Recipient> {
    match row.from_id {
        Some(id) => Some(Recipient::Agent(id)),
        None if row.from == "operator" => Some(Recipient::Operator),
        None => None,
    }
}

fn is_gone(tx: &Tx<'_>, to: Recipient) -> Result<bool, StoreError> {
    match to {
        Recipient::Operator => Ok(false),
        Recipient::Agent(id) => {
            Ok(roster::member(tx.conn(), id)?.is_none_or(|member| member.life == Life::Removed))
        }
    }
}
