//! The tables `rights` and `rights_recipients`: what the operator allows one agent beyond its role.

use std::collections::BTreeSet;

use hive_proto::ids::AgentId;
use hive_proto::v1::ToolGroup;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::events::{self, About};
use super::{StoreError, Tx};
use crate::model::event::Kind;
use crate::model::rights::{Listed, Recipients, Rights, Tools};

/// An agent's rights.
///
/// # Errors
/// When the tables cannot be read.
pub fn get(conn: &Connection, agent: AgentId) -> Result<Rights, StoreError> {
    let row: Option<(bool, Option<String>)> = conn
        .prepare_cached("SELECT listed, tools FROM rights WHERE agent_id = ?1")?
        .query_row([agent.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((listed, tools)) = row else {
        return Ok(Rights::default());
    };
    Ok(Rights {
        recipients: if listed {
            Recipients::Only(recipients(conn, agent)?)
        } else {
            Recipients::Anyone
        },
        tools: match tools {
            None => Tools::All,
            Some(words) => Tools::Only(groups(&words)?),
        },
    })
}

/// Names of the listed recipients, as people spell them: those that were purged are left out.
///
/// # Errors
/// When the tables cannot be read.
pub fn names(conn: &Connection, listed: &BTreeSet<Listed>) -> Result<Vec<String>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT name FROM agents WHERE id = ?1 AND purged = 0")?;
    let mut names = Vec::with_capacity(listed.len());
    for one in listed {
        let name = match one {
            Listed::Operator => Some("operator".to_owned()),
            Listed::Parent => Some("<parent>".to_owned()),
            Listed::Manager => Some("manager".to_owned()),
            Listed::Agent(id) => statement.query_row([id.0], |row| row.get(0)).optional()?,
        };
        names.extend(name);
    }
    Ok(names)
}

/// Records an agent's rights. What is so already leaves no event.
///
/// # Errors
/// `Conflict` when the agent is removed.
pub fn set(tx: &mut Tx<'_>, agent: AgentId, rights: &Rights) -> Result<(), StoreError> {
    if get(tx.conn(), agent)? == *rights {
        return Ok(());
    }
    let (listed, tools) = (
        matches!(rights.recipients, Recipients::Only(_)),
        match &rights.tools {
            Tools::All => None,
            Tools::Only(groups) => Some(json!(spelled(groups)).to_string()),
        },
    );
    let changed = tx
        .conn()
        .prepare_cached(
            "INSERT INTO rights (agent_id, listed, tools)
             SELECT id, ?2, ?3 FROM agents WHERE id = ?1 AND removed_at IS NULL
             ON CONFLICT (agent_id) DO UPDATE SET listed = excluded.listed, tools = excluded.tools",
        )?
        .execute(params![agent.0, listed, tools])?;
    if changed != 1 {
        return Err(StoreError::Conflict {
            what: format!("agent {agent}"),
            expected: "living",
        });
    }
    tx.conn()
        .prepare_cached("DELETE FROM rights_recipients WHERE agent_id = ?1")?
        .execute([agent.0])?;
    if let Recipients::Only(listed) = &rights.recipients {
        insert(tx, agent, listed)?;
    }
    let recipients = match &rights.recipients {
        Recipients::Anyone => json!("*"),
        Recipients::Only(listed) => json!(names(tx.conn(), listed)?),
    };
    let tools = match &rights.tools {
        Tools::All => json!("*"),
        Tools::Only(groups) => json!(spelled(groups)),
    };
    let data = json!({"recipients": recipients, "tools": tools});
    events::append(tx, Kind::AgentRights, About::agent(agent), &data)
}

fn insert(tx: &mut Tx<'_>, agent: AgentId, listed: &BTreeSet<Listed>) -> Result<(), StoreError> {
    let mut statement = tx.conn().prepare_cached(
        "INSERT INTO rights_recipients (agent_id, to_id, word) VALUES (?1, ?2, ?3)",
    )?;
    for one in listed {
        let (id, word) = match one {
            Listed::Operator => (None, Some("operator")),
            Listed::Parent => (None, Some("parent")),
            Listed::Manager => (None, Some("manager")),
            Listed::Agent(id) => (Some(id.0), None),
        };
        statement.execute(params![agent.0, id, word])?;
    }
    Ok(())
}

fn recipients(conn: &Connection, agent: AgentId) -> Result<BTreeSet<Listed>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT to_id, word FROM rights_recipients WHERE agent_id = ?1")?;
    let rows = statement.query_map([agent.0], |row| {
        let (id, word): (Option<i64>, Option<String>) = (row.get(0)?, row.get(1)?);
        match (id, word.as_deref()) {
            (Some(id), _) => Ok(Listed::Agent(AgentId(id))),
            (None, Some("operator")) => Ok(Listed::Operator),
            (None, Some("parent")) => Ok(Listed::Parent),
            (None, Some("manager")) => Ok(Listed::Manager),
            (None, other) => Err(rusqlite::Error::FromSqlConversionFailure(
                1,
                rusqlite::types::Type::Text,
                format!("recipient {other:?}").into(),
            )),
        }
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn spelled(groups: &BTreeSet<ToolGroup>) -> Vec<&'static str> {
    groups
        .iter()
        .map(|group| words::tool_group(*group))
        .collect()
}

/// A word that this build does not know is a group that it does not have.
fn groups(words: &str) -> Result<BTreeSet<ToolGroup>, StoreError> {
    let words: Vec<String> = serde_json::from_str(words)
        .map_err(|error| StoreError::Sqlite(format!("rights.tools: {error}")))?;
    Ok(words
        .iter()
        .filter_map(|word| words::parse_tool_group(word))
        .collect())
}
