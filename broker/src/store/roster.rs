//! The `agents` table as the hot paths see it: who is whose, and may it work; no long texts.

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use hive_proto::v1::Role;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{StoreError, Tx};
use crate::model::event::Kind;

/// An agent's place in the hive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: AgentId,
    pub name: String,
    pub role: Role,
    /// As recorded, maybe removed since.
    pub parent: Option<AgentId>,
    pub life: Life,
    pub work: Work,
}

/// Whether it is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Living,
    Removed,
}

/// Whether it may begin turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Allowed,
    Paused,
    Stopped,
}

const COLUMNS: &str = "id, name, role, parent_id, desired, paused, removed_at IS NOT NULL";

/// The agent, living or removed.
///
/// # Errors
/// When the table cannot be read.
pub fn member(conn: &Connection, id: AgentId) -> Result<Option<Member>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE id = ?1");
    let found = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(found)
}

/// The living agent of that name.
///
/// # Errors
/// When the table cannot be read.
pub fn named(conn: &Connection, name: &AgentName) -> Result<Option<Member>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE name = ?1 AND removed_at IS NULL");
    let found = conn
        .prepare_cached(&sql)?
        .query_row([name.as_str()], read)
        .optional()?;
    Ok(found)
}

/// Every living agent, in the order of their making.
///
/// # Errors
/// When the table cannot be read.
pub fn living(conn: &Connection) -> Result<Vec<Member>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM agents WHERE removed_at IS NULL ORDER BY id");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Gives an agent another parent, `None` for a root; `from` is the one that it has.
///
/// # Errors
/// `Conflict` when it is removed, or has another parent by now.
pub fn set_parent(
    tx: &mut Tx<'_>,
    id: AgentId,
    from: Option<AgentId>,
    to: Option<AgentId>,
) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE agents SET parent_id = ?3
             WHERE id = ?1 AND parent_id IS ?2 AND removed_at IS NULL",
        )?
        .execute(params![id.0, from.map(|id| id.0), to.map(|id| id.0)])?;
    if changed != 1 {
        return Err(StoreError::Conflict {
            what: format!("agent {id}"),
            expected: "living, with the parent that it had",
        });
    }
    let name = |id: Option<AgentId>| -> Result<String, StoreError> {
        let member = id.map(|id| member(tx.conn(), id)).transpose()?.flatten();
        Ok(member.map_or_else(|| "operator".to_owned(), |member| member.name))
    };
    let data = json!({"from": name(from)?, "to": name(to)?});
    events::append(tx, Kind::AgentMoved, About::agent(id), &data)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Member> {
    let role: String = row.get(2)?;
    let desired: String = row.get(4)?;
    let work = match (desired.as_str(), row.get(5)?) {
        ("running", false) => Work::Allowed,
        ("running", true) => Work::Paused,
        (_, _) => Work::Stopped,
    };
    Ok(Member {
        id: AgentId(row.get(0)?),
        name: row.get(1)?,
        role: words::parse_role(&role).unwrap_or(Role::Unspecified),
        parent: row.get::<_, Option<i64>>(3)?.map(AgentId),
        life: if row.get(6)? {
            Life::Removed
        } else {
            Life::Living
        },
        work,
    })
}
