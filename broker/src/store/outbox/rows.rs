//! A notification's fate on its channel.

use hive_proto::ids::UnixMs;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::json;

use crate::model::event::Kind;
use crate::model::notification::{LONGEST_PAUSE_MS, State};
use crate::store::events::{self, About};
use crate::store::{StoreError, Tx};

/// One notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    pub id: i64,
    pub channel: String,
    pub uid: String,
    pub kind: String,
    pub state: State,
    /// None until its first try.
    pub payload: Option<String>,
    pub tries: u32,
    pub created_at: UnixMs,
    /// When the first try of this round began.
    pub first_try_at: Option<UnixMs>,
    pub last_error: String,
    pub finished_at: Option<UnixMs>,
    /// How many things it tells.
    pub count: u32,
}

/// Which ones are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Pending and dead.
    Unsent,
    All,
}

const COLUMNS: &str = "id, channel, uid, kind, state, payload, tries, created_at, next_at,
    first_try_at, last_error, finished_at,
    (SELECT COUNT(*) FROM outbox_items WHERE outbox_id = outbox.id)";
/// Rows of a listing.
const ROWS: u32 = 500;

/// One notification.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: i64) -> Result<Option<OutboxRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM outbox WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id], read)
        .optional()?;
    Ok(row)
}

/// The newest ones, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn list(conn: &Connection, listing: Listing) -> Result<Vec<OutboxRow>, StoreError> {
    let which = match listing {
        Listing::Unsent => "WHERE state <> 'sent'",
        Listing::All => "",
    };
    let sql = format!("SELECT {COLUMNS} FROM outbox {which} ORDER BY id DESC LIMIT {ROWS}");
    let mut rows = all(conn, &sql, [])?;
    rows.reverse();
    Ok(rows)
}

/// Those that were given up and whose channel there still is: the oldest of each channel, and how many
/// the channel has.
///
/// # Errors
/// When the table cannot be read.
pub fn count_dead(conn: &Connection) -> Result<Vec<(OutboxRow, u32)>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT COUNT(*) FROM outbox AS other
             WHERE other.channel = outbox.channel AND other.state = 'dead')
         FROM outbox WHERE state = 'dead' AND channel IN (SELECT name FROM notify_channels)
         AND id = (SELECT MIN(id) FROM outbox AS other
             WHERE other.channel = outbox.channel AND other.state = 'dead')"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], |row| Ok((read(row)?, row.get(13)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The channel's notification whose time has come.
///
/// # Errors
/// When the table cannot be read.
pub fn due(conn: &Connection, channel: &str, now: UnixMs) -> Result<Option<OutboxRow>, StoreError> {
    // One of a time that far away was written before the clock was set back (`notification::is_due`).
    let far = now.plus_ms(LONGEST_PAUSE_MS / 5 * 6);
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE channel = ?1 AND state = 'pending'
         AND (next_at <= ?2 OR next_at > ?3) ORDER BY next_at, id LIMIT 1"
    );
    let row = conn
        .prepare_cached(&sql)?
        .query_row(params![channel, now.0, far.0], read)
        .optional()?;
    Ok(row)
}

/// Names of the pending ones that were tried before: a try of theirs may have been cut off.
///
/// # Errors
/// When the table cannot be read.
pub fn begun(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT uid FROM outbox WHERE state = 'pending' AND tries > 0")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When the channel has something to do next.
///
/// # Errors
/// When the table cannot be read.
pub fn next_at(conn: &Connection, channel: &str) -> Result<Option<UnixMs>, StoreError> {
    let at = conn
        .prepare_cached(
            "SELECT MIN(at) FROM (
                 SELECT MIN(next_at) AS at FROM outbox WHERE channel = ?1 AND state = 'pending'
                 UNION ALL
                 SELECT MIN(due_at) FROM outbox_items WHERE channel = ?1 AND outbox_id IS NULL)",
        )?
        .query_row([channel], |row| row.get::<_, Option<i64>>(0))?;
    Ok(at.map(UnixMs))
}

/// A try begins: counted, and the next one set down, before anybody is told. `payload` is kept by the
/// first one.
///
/// # Errors
/// `Conflict` when it is not pending with the tries that `row` has.
pub fn begin(
    tx: &mut Tx<'_>,
    row: &OutboxRow,
    tries: u32,
    next_at: UnixMs,
    payload: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE outbox SET tries = ?3, next_at = ?4, payload = COALESCE(payload, ?5),
                 first_try_at = COALESCE(first_try_at, ?6)
             WHERE id = ?1 AND state = 'pending' AND tries = ?2",
        )?
        .execute(params![
            row.id,
            row.tries,
            tries,
            next_at.0,
            payload,
            tx.now().0,
        ])?;
    one(changed, row.id, "pending with as many tries")
}

/// Pending → sent.
///
/// # Errors
/// `Conflict` when it is not pending in that try.
pub fn mark_sent(tx: &mut Tx<'_>, row: &OutboxRow) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE outbox SET state = 'sent', finished_at = ?3, last_error = ''
             WHERE id = ?1 AND state = 'pending' AND tries = ?2",
        )?
        .execute(params![row.id, row.tries, tx.now().0])?;
    one(changed, row.id, "pending in this try")?;
    note(tx, Kind::NotifySent, row, "")
}

/// A try failed; another one follows at `next_at`.
///
/// # Errors
/// `Conflict` when it is not pending in that try.
pub fn fail(
    tx: &mut Tx<'_>,
    row: &OutboxRow,
    next_at: UnixMs,
    why: &str,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE outbox SET next_at = ?3, last_error = ?4
             WHERE id = ?1 AND state = 'pending' AND tries = ?2",
        )?
        .execute(params![row.id, row.tries, next_at.0, why])?;
    one(changed, row.id, "pending in this try")?;
    note(tx, Kind::NotifyFailed, row, why)
}

/// Pending → dead.
///
/// # Errors
/// `Conflict` when it is not pending in that try.
pub fn bury(tx: &mut Tx<'_>, row: &OutboxRow, why: &str) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE outbox SET state = 'dead', finished_at = ?3, last_error = ?4
             WHERE id = ?1 AND state = 'pending' AND tries = ?2",
        )?
        .execute(params![row.id, row.tries, tx.now().0, why])?;
    one(changed, row.id, "pending in this try")?;
    note(tx, Kind::NotifyDead, row, why)
}

/// Dead → pending with all its tries before it; the receiver sees the same id.
///
/// # Errors
/// `Conflict` when it is not dead.
pub fn retry(tx: &mut Tx<'_>, row: &OutboxRow, next_at: UnixMs) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE outbox SET state = 'pending', finished_at = NULL, tries = 0, next_at = ?2,
                 first_try_at = NULL
             WHERE id = ?1 AND state = 'dead'",
        )?
        .execute(params![row.id, next_at.0])?;
    one(changed, row.id, "dead")?;
    note(tx, Kind::NotifyRetried, row, "")
}

/// Deletes at most `limit` that were finished before `before`, with what they told; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM outbox WHERE id IN (
                 SELECT id FROM outbox WHERE finished_at < ?1 ORDER BY finished_at LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn note(tx: &mut Tx<'_>, kind: Kind, row: &OutboxRow, why: &str) -> Result<(), StoreError> {
    let data = json!({"id": row.id, "channel": row.channel, "kind": row.kind, "tries": row.tries,
        "why": why});
    events::append(tx, kind, About::default(), &data)
}

fn one(changed: usize, id: i64, expected: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("notification {id}"),
        expected,
    })
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<OutboxRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    let tries = row.get(6)?;
    let state = match row.get_ref(4)?.as_str()? {
        "sent" => State::Sent,
        "dead" => State::Dead,
        _ => State::Pending {
            tries,
            next_at: UnixMs(row.get(8)?),
        },
    };
    let time = |at: usize| -> rusqlite::Result<Option<UnixMs>> {
        Ok(row.get::<_, Option<i64>>(at)?.map(UnixMs))
    };
    Ok(OutboxRow {
        id: row.get(0)?,
        channel: row.get(1)?,
        uid: row.get(2)?,
        kind: row.get(3)?,
        state,
        payload: row.get(5)?,
        tries,
        created_at: UnixMs(row.get(7)?),
        first_try_at: time(9)?,
        last_error: row.get(10)?,
        finished_at: time(11)?,
        count: row.get(12)?,
    })
}
