//! The `purges` table: purged agents whose files are not deleted yet.

use hive_proto::ids::{AgentId, UnixMs};
use hive_proto::name::AgentName;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{StoreError, Tx};
use crate::model::event::Kind;

/// One purge that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeRow {
    pub agent: AgentId,
    /// The agent's name; nobody else may have it until this is done.
    pub name: String,
    pub since: UnixMs,
    /// Why the last attempt did not work; empty when none has failed.
    pub error: String,
}

/// Whether a failure is another one than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    New,
    Same,
}

const PURGES: &str = "SELECT agent_id, name, since, error FROM purges JOIN agents ON id = agent_id";

/// Every unfinished purge, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn unfinished(conn: &Connection) -> Result<Vec<PurgeRow>, StoreError> {
    let sql = format!("{PURGES} ORDER BY since, agent_id");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The unfinished purge of that agent.
///
/// # Errors
/// When the table cannot be read.
pub fn of_agent(conn: &Connection, agent: AgentId) -> Result<Option<PurgeRow>, StoreError> {
    let sql = format!("{PURGES} WHERE agent_id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([agent.0], read)
        .optional()?;
    Ok(row)
}

/// The unfinished purge of an agent that had that name.
///
/// # Errors
/// When the table cannot be read.
pub fn of_name(conn: &Connection, name: &AgentName) -> Result<Option<PurgeRow>, StoreError> {
    let sql = format!("{PURGES} WHERE name = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([name.as_str()], read)
        .optional()?;
    Ok(row)
}

/// Records that the files of a purged agent are to be deleted.
///
/// # Errors
/// When that is recorded already.
pub fn begin(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    tx.conn()
        .prepare_cached("INSERT INTO purges (agent_id, since) VALUES (?1, ?2)")?
        .execute(params![agent.0, tx.now().0])?;
    Ok(())
}

/// Records why an attempt did not work; the same reason again changes nothing.
///
/// # Errors
/// When the row cannot be written.
pub fn fail(tx: &mut Tx<'_>, agent: AgentId, error: &str) -> Result<News, StoreError> {
    let changed = tx
        .conn()
        .prepare_cached("UPDATE purges SET error = ?2 WHERE agent_id = ?1 AND error <> ?2")?
        .execute(params![agent.0, error])?;
    if changed == 0 {
        return Ok(News::Same);
    }
    let data = json!({"why": error});
    events::append(tx, Kind::AgentPurgeFailed, About::agent(agent), &data)?;
    Ok(News::New)
}

/// Records that nothing is left.
///
/// # Errors
/// `Conflict` when it was recorded before.
pub fn finish(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached("DELETE FROM purges WHERE agent_id = ?1")?
        .execute([agent.0])?;
    if changed != 1 {
        return Err(StoreError::Conflict {
            what: format!("the purge of agent {agent}"),
            expected: "unfinished",
        });
    }
    events::append(tx, Kind::AgentPurged, About::agent(agent), &json!({}))
}

fn read(row: &Row<'_>) -> rusqlite::Result<PurgeRow> {
    Ok(PurgeRow {
        agent: AgentId(row.get(0)?),
        name: row.get(1)?,
        since: UnixMs(row.get(2)?),
        error: row.get(3)?,
    })
}
