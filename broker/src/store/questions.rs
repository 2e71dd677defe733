//! The `questions` table: asked by agents, kept for ever.

use hive_proto::ids::{AgentId, MessageId, QuestionId, UnixMs};
use hive_proto::v1::QuestionState;
use hive_proto::words;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{Recipient, StoreError, Tx};
use crate::model::event::Kind;
use crate::model::question::State;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRow {
    pub id: QuestionId,
    pub asker: AgentId,
    pub asker_name: String,
    pub target: Recipient,
    /// An agent's name, or `operator`.
    pub target_name: String,
    pub question: String,
    pub options: Vec<String>,
    pub choice: Choice,
    pub state: QuestionState,
    pub asked_at: UnixMs,
    pub deadline_at: Option<UnixMs>,
    /// Empty while it is open.
    pub answer: String,
    pub answerer: String,
    /// The message that brings the answer, while it is kept.
    pub message: Option<MessageId>,
    pub finished_at: Option<UnixMs>,
}

/// How many of the options may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    One,
    Many,
}

/// A question to be asked.
#[derive(Clone, Copy, Debug)]
pub struct NewQuestion<'a> {
    pub asker: AgentId,
    pub target: Recipient,
    pub question: &'a str,
    pub options: &'a [String],
    pub choice: Choice,
    pub deadline_at: Option<UnixMs>,
    pub key: Option<&'a str>,
}

/// How a question ends.
#[derive(Clone, Copy, Debug)]
pub struct Closing<'a> {
    pub kind: Kind,
    pub state: QuestionState,
    pub answer: &'a str,
    pub answerer: &'a str,
    pub message: Option<MessageId>,
    /// Why hive itself ended it; empty otherwise.
    pub why: &'a str,
}

/// Whose questions are listed, of those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Everyones,
    AskedBy(AgentId),
    /// Including those that were asked of the operator.
    AskedOf(Recipient),
}

const COLUMNS: &str = "id, asker_id, (SELECT name FROM agents WHERE agents.id = asker_id),
    target_id, COALESCE((SELECT name FROM agents WHERE agents.id = target_id), 'operator'),
    question, options, multi, state, asked_at, deadline_at, answer, answerer, message_id, finished_at";

// === impl QuestionRow ===

impl QuestionRow {
    /// Its state as the lifecycle knows it.
    #[must_use]
    pub fn life(&self) -> State {
        match self.state {
            QuestionState::Open | QuestionState::Unspecified => State::Open {
                deadline_at: self.deadline_at,
            },
            QuestionState::Answered => State::Answered,
            QuestionState::Expired => State::Expired,
            QuestionState::Cancelled => State::Cancelled,
        }
    }
}

/// Asks.
///
/// # Errors
/// When the row cannot be written, e.g. because the key is used.
pub fn insert(tx: &mut Tx<'_>, new: &NewQuestion<'_>) -> Result<QuestionId, StoreError> {
    tx.conn()
        .prepare_cached(
            "INSERT INTO questions
                 (asker_id, target_id, question, options, multi, idem_key, state, asked_at, deadline_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', ?7, ?8)",
        )?
        .execute(params![
            new.asker.0,
            target_id(new.target),
            new.question,
            json!(new.options).to_string(),
            new.choice == Choice::Many,
            new.key,
            tx.now().0,
            new.deadline_at.map(|at| at.0),
        ])?;
    let id = QuestionId(tx.conn().last_insert_rowid());
    let data = json!({"id": id, "target": name_of(tx.conn(), new.target)?,
        "options": new.options.len(), "deadline_ms": new.deadline_at});
    events::append(tx, Kind::QuestionAsked, About::agent(new.asker), &data)?;
    Ok(id)
}

/// Open → decided.
///
/// # Errors
/// `Conflict` when it is not open.
pub fn close(tx: &mut Tx<'_>, row: &QuestionRow, closing: &Closing<'_>) -> Result<(), StoreError> {
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE questions SET state = ?2, answer = ?3, answerer = ?4, message_id = ?5,
                 finished_at = ?6
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            row.id.0,
            words::question_state(closing.state),
            closing.answer,
            closing.answerer,
            closing.message.map(|id| id.0),
            tx.now().0,
        ])?;
    if changed != 1 {
        return Err(StoreError::Conflict {
            what: format!("question {}", row.id),
            expected: "open",
        });
    }
    let data = json!({"id": row.id, "answerer": closing.answerer, "target": row.target_name,
        "message": closing.message, "why": closing.why});
    events::append(tx, closing.kind, About::agent(row.asker), &data)
}

/// One question.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: QuestionId) -> Result<Option<QuestionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM questions WHERE id = ?1");
    let row = conn
        .prepare_cached(&sql)?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// The question that an asker's key was used for.
///
/// # Errors
/// When the table cannot be read.
pub fn by_key(
    conn: &Connection,
    asker: AgentId,
    key: &str,
) -> Result<Option<QuestionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM questions WHERE asker_id = ?1 AND idem_key = ?2");
    let row = conn
        .prepare_cached(&sql)?
        .query_row(params![asker.0, key], read)
        .optional()?;
    Ok(row)
}

/// How many open questions an agent has asked.
///
/// # Errors
/// When the table cannot be read.
pub fn open_count(conn: &Connection, asker: AgentId) -> Result<u32, StoreError> {
    let count = conn
        .prepare_cached("SELECT COUNT(*) FROM questions WHERE asker_id = ?1 AND state = 'open'")?
        .query_row([asker.0], |row| row.get(0))?;
    Ok(count)
}

/// The open questions, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn open(conn: &Connection, whose: Whose) -> Result<Vec<QuestionRow>, StoreError> {
    let (which, of) = match whose {
        Whose::Everyones => ("?1 = ?1", 0),
        Whose::AskedBy(agent) => ("asker_id = ?1", agent.0),
        Whose::AskedOf(target) => (
            "COALESCE(target_id, 0) = ?1",
            target_id(target).unwrap_or(0),
        ),
    };
    let sql =
        format!("SELECT {COLUMNS} FROM questions WHERE state = 'open' AND {which} ORDER BY id");
    all(conn, &sql, [of])
}

/// The newest `limit` questions of any state, oldest first.
///
/// # Errors
/// When the table cannot be read.
pub fn newest(conn: &Connection, limit: u32) -> Result<Vec<QuestionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM questions ORDER BY id DESC LIMIT ?1");
    let mut rows = all(conn, &sql, [limit])?;
    rows.reverse();
    Ok(rows)
}

/// At most `limit` open questions whose deadline is `now` or past.
///
/// # Errors
/// When the table cannot be read.
pub fn overdue(conn: &Connection, now: UnixMs, limit: u32) -> Result<Vec<QuestionRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM questions WHERE state = 'open' AND deadline_at <= ?1
         ORDER BY deadline_at LIMIT ?2"
    );
    all(conn, &sql, params![now.0, limit])
}

/// The next deadline of an open question.
///
/// # Errors
/// When the table cannot be read.
pub fn next_deadline(conn: &Connection) -> Result<Option<UnixMs>, StoreError> {
    let at: Option<i64> = conn
        .prepare_cached("SELECT MIN(deadline_at) FROM questions WHERE state = 'open'")?
        .query_row([], |row| row.get(0))?;
    Ok(at.map(UnixMs))
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<QuestionRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<QuestionRow> {
    let (options, state): (String, String) = (row.get(6)?, row.get(8)?);
    let odd = |at, what: &str| {
        let text = format!("unexpected {what:?}");
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, text.into())
    };
    Ok(QuestionRow {
        id: QuestionId(row.get(0)?),
        asker: AgentId(row.get(1)?),
        asker_name: row.get(2)?,
        target: match row.get(3)? {
            None => Recipient::Operator,
            Some(id) => Recipient::Agent(AgentId(id)),
        },
        target_name: row.get(4)?,
        question: row.get(5)?,
        options: serde_json::from_str(&options).map_err(|_| odd(6, &options))?,
        choice: match row.get(7)? {
            true => Choice::Many,
            false => Choice::One,
        },
        state: words::parse_question_state(&state).ok_or_else(|| odd(8, &state))?,
        asked_at: UnixMs(row.get(9)?),
        deadline_at: row.get::<_, Option<i64>>(10)?.map(UnixMs),
        answer: row.get(11)?,
        answerer: row.get(12)?,
        message: row.get::<_, Option<i64>>(13)?.map(MessageId),
        finished_at: row.get::<_, Option<i64>>(14)?.map(UnixMs),
    })
}

fn target_id(target: Recipient) -> Option<i64> {
    match target {
        Recipient::Operator => None,
        Recipient::Agent(id) => Some(id.0),
    }
}

fn name_of(conn: &Connection, target: Recipient) -> Result<String, StoreError> {
    let name = conn
        .prepare_cached("SELECT COALESCE((SELECT name FROM agents WHERE id = ?1), 'operator')")?
        .query_row([target_id(target)], |row| row.get(0))?;
    Ok(name)
}
