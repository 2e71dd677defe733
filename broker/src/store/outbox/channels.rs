//! The channels of hive.toml and how far each has read the events.

use hive_proto::ids::EventSeq;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::store::{StoreError, Tx};

/// Makes the table's channels those of hive.toml. A new one begins with what happens from now on; what
/// a channel that is gone had still to tell is dropped with it. Says how many notifications were.
///
/// # Errors
/// When the rows cannot be written.
pub fn adopt(tx: &mut Tx<'_>, names: &[String]) -> Result<usize, StoreError> {
    let conn = tx.conn();
    let named = Value::from(names).to_string();
    let gone = "NOT IN (SELECT value FROM json_each(?1))";
    conn.execute(
        &format!("DELETE FROM outbox_items WHERE outbox_id IS NULL AND channel {gone}"),
        [&named],
    )?;
    let dropped = conn.execute(
        &format!("DELETE FROM outbox WHERE state = 'pending' AND channel {gone}"),
        [&named],
    )?;
    conn.execute(
        &format!("DELETE FROM notify_channels WHERE name {gone}"),
        [&named],
    )?;
    conn.execute(
        "INSERT OR IGNORE INTO notify_channels (name, cursor)
         SELECT value, (SELECT COALESCE(MAX(seq), 0) FROM events) FROM json_each(?1)",
        [&named],
    )?;
    Ok(dropped)
}

/// The last event that the channel has looked at; none for a channel that does not exist.
///
/// # Errors
/// When the table cannot be read.
pub fn cursor(conn: &Connection, channel: &str) -> Result<Option<EventSeq>, StoreError> {
    let seq = conn
        .prepare_cached("SELECT cursor FROM notify_channels WHERE name = ?1")?
        .query_row([channel], |row| row.get(0).map(EventSeq))
        .optional()?;
    Ok(seq)
}

/// Moves the channel on from `from` to `to`.
///
/// # Errors
/// `Conflict` when it is not at `from`.
pub fn move_cursor(
    tx: &mut Tx<'_>,
    channel: &str,
    from: EventSeq,
    to: EventSeq,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached("UPDATE notify_channels SET cursor = ?3 WHERE name = ?1 AND cursor = ?2")?
        .execute(params![channel, from.0, to.0])?;
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict {
        what: format!("the channel {channel}"),
        expected: "where it was",
    })
}
