//! From events to what one channel is to tell, in the transaction that moves its cursor.

use hive_proto::ids::{ApprovalId, EventSeq, QuestionId};
use serde_json::Value;

use super::settings::Channel;
use crate::model::concern::{self, Concern, Happening, Rule};
use crate::model::event::Kind;
use crate::store::approvals;
use crate::store::events::{self, EventRow};
use crate::store::outbox::{self, NewItem};
use crate::store::questions::{self, QuestionRow};
use crate::store::{Conn, StoreError, Tx};

/// Events of one transaction.
pub(super) const BATCH: u32 = 500;
/// Beyond so many events that were of no interest the cursor is moved all the same.
const STRIDE: i64 = 10_000;

/// What a look without the writer found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// Something to be taken in.
    Events,
}

/// Kinds of events that one of the rules reads.
fn kinds(rules: &[&Rule]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for kind in rules
        .iter()
        .flat_map(|rule| rule.opens.iter().chain(rule.closes))
    {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}

fn rules(channel: &Channel) -> Vec<&'static Rule> {
    concern::told()
        .filter(|rule| channel.on.contains(&rule.concern))
        .collect()
}

/// Whether anything happened after `seen` that the channel reads; moves `seen` on when not. Most of
/// what happens is of no interest to it: that costs no write.
pub(super) fn look(
    conn: &Conn,
    channel: &Channel,
    seen: EventSeq,
) -> Result<(Found, EventSeq), StoreError> {
    let last = events::last_seq(conn)?;
    let Some(cursor) = outbox::cursor(conn, &channel.name)? else {
        return Ok((Found::Nothing, last));
    };
    let after = seen.max(cursor);
    let new = events::of_kinds(conn, after, &kinds(&rules(channel)), 1)?;
    let far = last.0.saturating_sub(cursor.0) > STRIDE;
    if new.is_empty() && !far {
        return Ok((Found::Nothing, last));
    }
    Ok((Found::Events, after))
}

/// Takes in the events after the cursor and makes notifications of what is due; says how many events
/// there were.
pub(super) fn take_in(tx: &mut Tx<'_>, channel: &Channel) -> Result<usize, StoreError> {
    let rules = rules(channel);
    let Some(cursor) = outbox::cursor(tx.conn(), &channel.name)? else {
        return Ok(0);
    };
    let last = events::last_seq(tx.conn())?;
    let rows = events::of_kinds(tx.conn(), cursor, &kinds(&rules), BATCH)?;
    for row in &rows {
        for rule in &rules {
            apply(tx, channel, rule, row)?;
        }
    }
    let to = match rows.last() {
        Some(row) if rows.len() >= BATCH as usize => row.seq,
        Some(_) | None => last,
    };
    if to != cursor {
        outbox::move_cursor(tx, &channel.name, cursor, to)?;
    }
    outbox::gather(tx, &channel.name, channel.fold_ms, super::notice::uid)?;
    Ok(rows.len())
}

/// What an agent wrote of it, if this channel may tell that.
fn quote(conn: &Conn, channel: &Channel, concern: Concern, id: i64) -> Result<String, StoreError> {
    if !channel.details {
        return Ok(String::new());
    }
    match concern {
        Concern::Approval => {
            let row = approvals::find(conn, ApprovalId(id))?;
            Ok(row.map(|row| row.description).unwrap_or_default())
        }
        Concern::Question => {
            let row = questions::find(conn, QuestionId(id))?;
            Ok(row.map(|row| asked(&row)).unwrap_or_default())
        }
        Concern::ReminderFailed
        | Concern::Message
        | Concern::Dead
        | Concern::Stalled
        | Concern::FailedAgent
        | Concern::NeedsLogin
        | Concern::Purge
        | Concern::Disk
        | Concern::NotificationDead => Ok(String::new()),
    }
}

/// The question and what there is to choose from.
fn asked(row: &QuestionRow) -> String {
    match row.options.as_slice() {
        [] => row.question.clone(),
        options => format!("{} [{}]", row.question, options.join(" | ")),
    }
}

fn apply(
    tx: &mut Tx<'_>,
    channel: &Channel,
    rule: &Rule,
    row: &EventRow,
) -> Result<(), StoreError> {
    let is_one_of = |kinds: &[Kind]| kinds.iter().any(|kind| kind.word() == row.kind);
    let (opens, closes) = (is_one_of(rule.opens), is_one_of(rule.closes));
    if !opens && !closes {
        return Ok(());
    }
    let data: Value = serde_json::from_str(&row.data).unwrap_or_default();
    // What became of a notification is told by the other channels.
    if data["channel"] == channel.name.as_str() {
        return Ok(());
    }
    let happening = Happening {
        at: row.at,
        agent: &row.agent,
        data: &data,
    };
    if let Some(told) = opens.then(|| (rule.tell)(&happening)).flatten() {
        let since = row.at.plus_ms(-rule.quiet_ms);
        let name = &channel.name;
        if rule.quiet_ms > 0 && outbox::was_told(tx.conn(), name, rule.word, &told.subject, since)?
        {
            return Ok(());
        }
        let new = NewItem {
            kind: rule.word,
            seq: row.seq,
            subject: told.subject,
            ref_id: told.id,
            agent: row.agent.clone(),
            text: told.text,
            quote: quote(tx.conn(), channel, rule.concern, told.id)?,
            at: row.at,
            due_at: told.due,
        };
        return outbox::add(tx, name, &new);
    }
    match closes.then(|| (rule.ends)(&happening)).flatten() {
        Some(subject) => outbox::close(tx, &channel.name, rule.word, &subject),
        None => Ok(()),
    }
}
