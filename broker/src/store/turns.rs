//! The `turns` table: at most one open turn an agent.

use std::collections::HashMap;

use hive_proto::ids::{AgentId, Epoch, MessageId, TurnId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::sessions::sql;
use super::{StoreError, Tx};
use crate::model::event::Kind;
use crate::model::outcome::TurnEnd;

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRow {
    pub id: TurnId,
    pub agent: AgentId,
    /// The message that began it.
    pub message: MessageId,
    pub epoch: Epoch,
    pub engine: String,
    pub model: String,
    pub started_at: UnixMs,
    /// None while it runs.
    pub ended_at: Option<UnixMs>,
    /// Word of the outcome; empty while it runs.
    pub outcome: String,
    /// Word of the failure's class; empty for none.
    pub failure: String,
    pub detail: String,
    pub usage: Usage,
}

/// Tokens and cost of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub cache_write_tokens: i64,
    pub cost_usd: f64,
    /// Context in use at the end, in tokens; 0 when unknown.
    pub context_tokens: i64,
    pub tool_calls: u32,
}

/// What a turn leaves behind.
#[derive(Clone, Debug)]
pub struct Ended {
    pub end: TurnEnd,
    pub detail: String,
    pub usage: Usage,
    /// The model that ran; empty: as it began.
    pub model: String,
}

/// Turns and cost of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub turns: u64,
    /// Cost of the turns that began since the given time.
    pub cost_usd: f64,
}

const COLUMNS: &str =
    "id, agent_id, message_id, epoch, engine, model, started_at, ended_at, outcome,
    failure, detail, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd,
    context_tokens, tool_calls";

/// Opens a turn for the first message that it takes, with the agent's engine and model.
///
/// # Errors
/// When the agent has an open turn, or none has that id.
pub fn open(
    tx: &mut Tx<'_>,
    agent: AgentId,
    epoch: Epoch,
    message: MessageId,
) -> Result<TurnId, StoreError> {
    let (id, engine, model) = tx
        .conn()
        .prepare_cached(
            "INSERT INTO turns (agent_id, epoch, message_id, engine, model, started_at)
             SELECT id, ?2, ?3, engine, model, ?4 FROM agents WHERE id = ?1
             RETURNING id, engine, model",
        )?
        .query_row(params![agent.0, sql(epoch), message.0, tx.now().0], |row| {
            Ok((
                TurnId(row.get(0)?),
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ))
        })?;
    let data = json!({"turn": id, "message": message, "epoch": epoch, "engine": engine,
        "model": model});
    events::append(
        tx,
        Kind::TurnStarted,
        About::message(message, Some(agent)),
        &data,
    )?;
    Ok(id)
}

/// Ends an open turn. Settling its messages is the caller's business, in the same transaction.
///
/// # Errors
/// `Conflict` when it is not open.
pub fn finish(tx: &mut Tx<'_>, turn: &TurnRow, ended: &Ended) -> Result<(), StoreError> {
    let usage = &ended.usage;
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE turns SET ended_at = ?2, outcome = ?3, failure = ?4, detail = ?5,
                 input_tokens = ?6, output_tokens = ?7, cache_read_tokens = ?8,
                 cache_write_tokens = ?9, cost_usd = ?10, context_tokens = ?11, tool_calls = ?12,
                 model = CASE ?13 WHEN '' THEN model ELSE ?13 END
             WHERE id = ?1 AND ended_at IS NULL",
        )?
        .execute(params![
            turn.id.0,
            tx.now().0,
            ended.end.word(),
            ended.end.failure_word(),
            ended.detail,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.cost_usd,
            usage.context_tokens,
            usage.tool_calls,
            ended.model,
        ])?;
    if changed != 1 {
        return Err(StoreError::Conflict {
            what: format!("turn {}", turn.id),
            expected: "open",
        });
    }
    let data = json!({"turn": turn.id, "outcome": ended.end.word(),
        "failure": ended.end.failure_word(), "detail": ended.detail, "cost_usd": usage.cost_usd,
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "tool_calls": usage.tool_calls});
    let about = About::message(turn.message, Some(turn.agent));
    events::append(tx, Kind::TurnEnded, about, &data)
}

/// Leaves the audit trail of a fenced session's attempt to end its turn.
///
/// # Errors
/// When the event cannot be written.
pub fn note_refused(
    tx: &mut Tx<'_>,
    agent: AgentId,
    turn: TurnId,
    epoch: Epoch,
    current: Epoch,
    outcome: &str,
) -> Result<(), StoreError> {
    let message = get(tx.conn(), turn)?
        .filter(|row| row.agent == agent)
        .map(|row| row.message);
    let about = About {
        agent: Some(agent),
        message,
    };
    let data = json!({"turn": turn, "epoch": epoch, "current_epoch": current, "outcome": outcome});
    events::append(tx, Kind::TurnRefused, about, &data)
}

/// The agent's open turn.
///
/// # Errors
/// When the table cannot be read.
pub fn current(conn: &Connection, agent: AgentId) -> Result<Option<TurnRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM turns WHERE agent_id = ?1 AND ended_at IS NULL");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([agent.0], read)
        .optional()?;
    Ok(row)
}

/// Every open turn, by agent.
///
/// # Errors
/// When the table cannot be read.
pub fn all_current(conn: &Connection) -> Result<HashMap<AgentId, TurnRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM turns WHERE ended_at IS NULL");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], read)?;
    Ok(rows
        .map(|row| row.map(|row| (row.agent, row)))
        .collect::<Result<_, _>>()?)
}

/// One turn.
///
/// # Errors
/// When the table cannot be read.
pub fn get(conn: &Connection, id: TurnId) -> Result<Option<TurnRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// The turns that a message began, and the one that took it last, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn of_message(conn: &Connection, message: MessageId) -> Result<Vec<TurnRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM turns
         WHERE message_id = ?1 OR id = (SELECT turn_id FROM messages WHERE id = ?1) ORDER BY id"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([message.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Turns of every agent, and the cost of those that began at `since` or later.
///
/// # Errors
/// When the table cannot be read.
pub fn totals(conn: &Connection, since: UnixMs) -> Result<HashMap<AgentId, Totals>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT agent_id, COUNT(*), SUM(CASE WHEN started_at >= ?1 THEN cost_usd ELSE 0.0 END)
         FROM turns GROUP BY agent_id",
    )?;
    let rows = statement.query_map([since.0], |row| {
        let totals = Totals {
            turns: row.get::<_, i64>(1)?.unsigned_abs(),
            cost_usd: row.get(2)?,
        };
        Ok((AgentId(row.get(0)?), totals))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes at most `limit` turns that ended before `before`; says how many.
///
/// # Errors
/// When the rows cannot be deleted.
pub fn prune(tx: &mut Tx<'_>, before: UnixMs, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx
        .conn()
        .prepare_cached(
            "DELETE FROM turns WHERE id IN (
                 SELECT id FROM turns WHERE ended_at < ?1 ORDER BY id LIMIT ?2)",
        )?
        .execute(params![before.0, limit])?;
    Ok(deleted)
}

fn read(row: &Row<'_>) -> rusqlite::Result<TurnRow> {
    Ok(TurnRow {
        id: TurnId(row.get(0)?),
        agent: AgentId(row.get(1)?),
        message: MessageId(row.get(2)?),
        epoch: Epoch(row.get::<_, i64>(3)?.unsigned_abs()),
        engine: row.get(4)?,
        model: row.get(5)?,
        started_at: UnixMs(row.get(6)?),
        ended_at: row.get::<_, Option<i64>>(7)?.map(UnixMs),
        outcome: row.get(8)?,
        failure: row.get(9)?,
        detail: row.get(10)?,
        usage: Usage {
            input_tokens: row.get(11)?,
            output_tokens: row.get(12)?,
            cache_read_tokens: row.get(13)?,
            cache_write_tokens: row.get(14)?,
            cost_usd: row.get(15)?,
            context_tokens: row.get(16)?,
            tool_calls: row.get(17)?,
        },
    })
}
