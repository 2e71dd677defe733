//! What is to be told, and how it becomes notifications: the first thing of a kind goes out at once,
//! what follows within the channel's pause goes out together after it.

use hive_proto::ids::{EventSeq, UnixMs};
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::{StoreError, Tx};

/// One thing, to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    pub kind: &'static str,
    pub seq: EventSeq,
    pub subject: String,
    pub ref_id: i64,
    pub agent: String,
    pub text: String,
    pub quote: String,
    pub at: UnixMs,
    pub due_at: UnixMs,
}

/// One thing that a notification tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub ref_id: i64,
    pub agent: String,
    pub text: String,
    pub quote: String,
    pub at: UnixMs,
}

/// Stores it, once for every event.
///
/// # Errors
/// When the row cannot be written.
pub fn add(tx: &mut Tx<'_>, channel: &str, new: &NewItem) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT OR IGNORE INTO outbox_items
                 (channel, kind, seq, subject, ref_id, agent, text, quote, at, due_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            channel,
            new.kind,
            new.seq.0,
            new.subject,
            new.ref_id,
            new.agent,
            new.text,
            new.quote,
            new.at.0,
            new.due_at.0,
        ])?;
    Ok(())
}

/// Whether the thing was told, or is about to be, since `since`.
///
/// # Errors
/// When the table cannot be read.
pub fn was_told(
    conn: &Connection,
    channel: &str,
    kind: &str,
    subject: &str,
    since: UnixMs,
) -> Result<bool, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT 1 FROM outbox_items
             WHERE channel = ?1 AND kind = ?2 AND subject = ?3 AND at > ?4 LIMIT 1",
        )?
        .query_row(params![channel, kind, subject, since.0], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// It waits no longer: what was not tried yet is not told. What a try has begun for goes out.
///
/// # Errors
/// When the rows cannot be written.
pub fn close(tx: &mut Tx<'_>, channel: &str, kind: &str, subject: &str) -> Result<(), StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM outbox_items WHERE channel = ?1 AND kind = ?2 AND subject = ?3
             AND (outbox_id IS NULL OR EXISTS (
                 SELECT 1 FROM outbox WHERE outbox.id = outbox_id AND payload IS NULL))",
        )?
        .execute(params![channel, kind, subject])?;
    if deleted == 0 {
        return Ok(());
    }
    tx.conn()
        .prepare_cached(
            "DELETE FROM outbox WHERE channel = ?1 AND kind = ?2 AND payload IS NULL
             AND NOT EXISTS (SELECT 1 FROM outbox_items WHERE outbox_id = outbox.id)",
        )?
        .execute(params![channel, kind])?;
    Ok(())
}

/// Makes notifications of what is due. `pause_ms` is what two notifications of one kind lie apart.
///
/// # Errors
/// When the rows cannot be written.
pub fn gather(
    tx: &mut Tx<'_>,
    channel: &str,
    pause_ms: i64,
    uid: impl Fn() -> String,
) -> Result<(), StoreError> {
    let conn = tx.conn();
    let kinds: Vec<String> = conn
        .prepare_cached(
            "SELECT DISTINCT kind FROM outbox_items
             WHERE channel = ?1 AND outbox_id IS NULL AND due_at <= ?2",
        )?
        .query_map(params![channel, tx.now().0], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for kind in kinds {
        let row = match open_row(conn, channel, &kind)? {
            Some(id) => id,
            None => new_row(tx, channel, &kind, pause_ms, &uid())?,
        };
        conn.prepare_cached(
            "UPDATE outbox_items SET outbox_id = ?4
             WHERE channel = ?1 AND kind = ?2 AND outbox_id IS NULL AND due_at <= ?3",
        )?
        .execute(params![channel, kind, tx.now().0, row])?;
    }
    Ok(())
}

/// The notification of that kind that nothing was said of yet.
fn open_row(conn: &Connection, channel: &str, kind: &str) -> Result<Option<i64>, StoreError> {
    let id = conn
        .prepare_cached(
            "SELECT id FROM outbox WHERE channel = ?1 AND kind = ?2 AND state = 'pending'
             AND payload IS NULL ORDER BY id LIMIT 1",
        )?
        .query_row([channel, kind], |row| row.get(0))
        .optional()?;
    Ok(id)
}

fn new_row(
    tx: &Tx<'_>,
    channel: &str,
    kind: &str,
    pause_ms: i64,
    uid: &str,
) -> Result<i64, StoreError> {
    let (conn, now) = (tx.conn(), tx.now());
    let last: Option<i64> = conn
        .prepare_cached(
            "SELECT MAX(COALESCE(first_try_at, next_at)) FROM outbox
             WHERE channel = ?1 AND kind = ?2 AND COALESCE(first_try_at, next_at) <= ?3",
        )?
        // One of a later time was written before the clock was set back.
        .query_row(params![channel, kind, now.0], |row| row.get(0))?;
    let next_at = last.map_or(now, |last| UnixMs(last).plus_ms(pause_ms).max(now));
    conn.prepare_cached(
        "INSERT INTO outbox (channel, uid, kind, state, created_at, next_at)
         VALUES (?1, ?2, ?3, 'pending', ?4, ?5)",
    )?
    .execute(params![channel, uid, kind, now.0, next_at.0,])?;
    Ok(conn.last_insert_rowid())
}

/// Whether something has become due that belongs to no notification yet.
///
/// # Errors
/// When the table cannot be read.
pub fn is_ripe(conn: &Connection, channel: &str, now: UnixMs) -> Result<bool, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT 1 FROM outbox_items
             WHERE channel = ?1 AND outbox_id IS NULL AND due_at <= ?2 LIMIT 1",
        )?
        .query_row(params![channel, now.0], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// What a notification tells, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn of_row(conn: &Connection, outbox: i64) -> Result<Vec<Item>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT ref_id, agent, text, quote, at FROM outbox_items WHERE outbox_id = ?1 ORDER BY seq",
    )?;
    let rows = statement.query_map([outbox], |row| {
        Ok(Item {
            ref_id: row.get(0)?,
            agent: row.get(1)?,
            text: row.get(2)?,
            quote: row.get(3)?,
            at: UnixMs(row.get(4)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
