//! Removing an agent, in one transaction: its record, and what becomes of the mail that it had.
//!
//! A purged agent asks for nothing any more, and its schedules end.
//!
//! A removed agent's mail waits: whoever makes the agent again revives both. A purged agent never comes
//! back, so everything that it had not finished is dead, and those who wait for it are told.

use std::collections::BTreeMap;

use hive_proto::ids::AgentId;

use crate::approvals;
use crate::loose_ends;
use crate::model::message::{self, Event, State};
use crate::model::outcome::Loss;
use crate::notices::{Notices, sender_of};
use crate::schedules;
use crate::settle;
use crate::store::agents::{self, Removal};
use crate::store::messages::{self, Fate};
use crate::store::{Recipient, StoreError, Tx, purges, roster};
use crate::topology;

/// Result of a message that died with its recipient.
const PURGED: &str = "recipient purged";
/// Ids that a notice names.
const NAMED: usize = 10;

/// Removes a living agent.
///
/// # Errors
/// `Conflict` when it is removed already.
pub fn remove(tx: &mut Tx<'_>, agent: AgentId, removal: Removal) -> Result<(), StoreError> {
    agents::set_removed(tx, agent, removal)?;
    loose_ends::owner_is_gone(tx, agent, removal)?;
    match removal {
        Removal::Kept => Ok(()),
        Removal::Purged => {
            purges::begin(tx, agent)?;
            approvals::withdraw_of(tx, agent)?;
            schedules::drop_purged(tx)?;
            bury_mail(tx, agent)
        }
    }
}

/// Ends the turn of a purged agent and buries all that waits for it. Finds nothing the second time.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn bury_mail(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    // What its turn held is queued by this, and then buried with the rest.
    settle::release(tx, agent, Loss::Stopped)?;
    let rows = messages::queued_fates(tx.conn(), Recipient::Agent(agent))?;
    for row in &rows {
        let after = message::next(tx.retry(), row.state, Event::RecipientPurged)
            .map_err(|illegal| StoreError::Illegal(illegal.to_string()))?;
        if let State::Dead { attempt } = after {
            messages::bury_queued(tx, row, attempt, PURGED)?;
        }
    }
    tell(tx, agent, &rows)
}

/// One notice for each sender, and one for parent and operator with all of them.
fn tell(tx: &mut Tx<'_>, agent: AgentId, rows: &[Fate]) -> Result<(), StoreError> {
    // Its own reminders to itself and what hive told it are missed by nobody.
    let missed: Vec<&Fate> = rows
        .iter()
        .filter(|row| row.from != "system" && row.from_id != Some(agent))
        .collect();
    if missed.is_empty() {
        return Ok(());
    }
    let name = roster::member(tx.conn(), agent)?
        .map_or_else(|| format!("agent {agent}"), |member| member.name);
    let mut notices = Notices::default();
    for (sender, rows) in by_sender(&missed) {
        let line = format!(
            "{} to {name} will never be done, because {name} was purged: {}",
            count(rows.len()),
            ids(&rows)
        );
        notices.add(Recipient::Agent(sender), &line);
    }
    let mut senders: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &missed {
        *senders.entry(&row.from).or_default() += 1;
    }
    let senders: Vec<String> = senders
        .iter()
        .map(|(from, rows)| format!("{rows} from {from}"))
        .collect();
    let line = format!(
        "{name} was purged with {} waiting, now dead: {}",
        count(missed.len()),
        senders.join(", ")
    );
    notices.add(topology::parent(tx.conn(), agent)?.recipient, &line);
    notices.add(Recipient::Operator, &line);
    notices.post(tx)
}

fn by_sender<'a>(rows: &[&'a Fate]) -> BTreeMap<AgentId, Vec<&'a Fate>> {
    let mut senders: BTreeMap<AgentId, Vec<&Fate>> = BTreeMap::new();
    for row in rows {
        if let Some(Recipient::Agent(id)) = sender_of(row) {
            senders.entry(id).or_default().push(row);
        }
    }
    senders
}

fn count(rows: usize) -> String {
    match rows {
        1 => "1 message".into(),
        some => format!("{some} messages"),
    }
}

fn ids(rows: &[&Fate]) -> String {
    let named: Vec<_> = rows
        .iter()
        .take(NAMED)
        .map(|row| row.id.to_string())
        .collect();
    match rows.len().saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
