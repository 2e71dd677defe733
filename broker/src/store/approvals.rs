//! The `approvals` table: what waits for a person, and what was decided.

use hive_proto::ids::{AgentId, ApprovalId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::json;

use super::events::{self, About};
use super::{StoreError, Tx};
use crate::model::approval::State;
use crate::model::event::Kind;

/// A request, as it is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewApproval<'a> {
    pub kind: &'static str,
    /// Whom it is about.
    pub agent: AgentId,
    pub requester: AgentId,
    /// What it would change; empty for something new.
    pub subject: &'a str,
    pub description: &'a str,
    pub payload: &'a str,
    pub digest: &'a str,
    pub key: Option<&'a str>,
    /// Digest of the request as it came.
    pub asked: &'a str,
    pub expires_at: UnixMs,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    pub id: ApprovalId,
    pub kind: String,
    pub agent: AgentId,
    pub agent_name: String,
    pub requester: AgentId,
    pub requester_name: String,
    /// Whether its requester is gone for good.
    pub orphaned: bool,
    pub subject: String,
    pub description: String,
    /// Empty in listings.
    pub payload: String,
    pub digest: String,
    pub state: State,
    pub requested_at: UnixMs,
    pub expires_at: UnixMs,
    pub decided_at: Option<UnixMs>,
    pub decided_by: String,
    pub note: String,
    pub result: String,
    pub finished_at: Option<UnixMs>,
}

/// What a change of state says beside the state itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// Who decided; empty when nobody did.
    pub by: &'a str,
    pub note: &'a str,
    pub result: &'a str,
}

// === impl ApprovalRow ===

impl ApprovalRow {
    /// What it is, in one line: its kind and what the requester says about it.
    #[must_use]
    pub fn line(&self) -> String {
        match self.description.as_str() {
            "" => self.kind.clone(),
            said => format!("{}: {said}", self.kind),
        }
    }
}

/// Which ones are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Pending,
    All,
}

/// Rows of a listing.
const ROWS: u32 = 500;

/// All columns, with the payload as the argument says.
fn select(payload: &str, which: &str) -> String {
    format!(
        "SELECT a.id, a.kind, a.agent_id, about.name, a.requester_id, asks.name, asks.purged,
             a.subject, a.description, {payload}, a.digest, a.state, a.requested_at, a.expires_at,
             a.decided_at, a.decided_by, a.note, a.result, a.finished_at
         FROM approvals a JOIN agents about ON about.id = a.agent_id
         JOIN agents asks ON asks.id = a.requester_id {which}"
    )
}

/// Stores a request that waits.
///
/// # Errors
/// When the row cannot be written.
pub fn insert(tx: &mut Tx<'_>, new: &NewApproval<'_>) -> Result<ApprovalId, StoreError> {
    let id = tx
        .conn()
        .prepare_cached(
            "INSERT INTO approvals (kind, agent_id, requester_id, subject, description, payload,
                 digest, idem_key, asked, state, requested_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11) RETURNING id",
        )?
        .query_row(
            params![
                new.kind,
                new.agent.0,
                new.requester.0,
                new.subject,
                new.description,
                new.payload,
                new.digest,
                new.key,
                new.asked,
                tx.now().0,
                new.expires_at.0,
            ],
            |row| row.get(0),
        )
        .map(ApprovalId)?;
    let data = json!({"id": id, "kind": new.kind, "digest": new.digest,
        "expires_at_ms": new.expires_at});
    events::append(
        tx,
        Kind::ApprovalRequested,
        About::agent(new.requester),
        &data,
    )?;
    Ok(id)
}

/// Moves it from the state that `row` has to `after`.
///
/// # Errors
/// `Conflict` when it is not in that state any more.
pub fn advance(
    tx: &mut Tx<'_>,
    row: &ApprovalRow,
    after: State,
    said: Said<'_>,
) -> Result<(), StoreError> {
    let decides = matches!(after, State::Approved | State::Denied);
    let changed = tx
        .conn()
        .prepare_cached(
            "UPDATE approvals SET state = ?3,
                 decided_at = CASE WHEN ?4 THEN ?5 ELSE decided_at END,
                 decided_by = CASE WHEN ?4 THEN ?6 ELSE decided_by END,
                 note = CASE WHEN ?4 THEN ?7 ELSE note END,
                 result = ?8,
                 finished_at = CASE WHEN ?9 THEN ?5 END
             WHERE id = ?1 AND state = ?2",
        )?
        .execute(params![
            row.id.0,
            row.state.word(),
            after.word(),
            decides,
            tx.now().0,
            said.by,
            said.note,
            said.result,
            after.is_final(),
        ])?;
    if changed == 0 {
        return Err(StoreError::Conflict {
            what: format!("approval {}", row.id),
            expected: row.state.word(),
        });
    }
    let data = json!({"id": row.id, "kind": row.kind, "by": said.by, "result": said.result});
    events::append(tx, kind(after), About::agent(row.requester), &data)
}

fn kind(after: State) -> Kind {
    match after {
        State::Pending => Kind::ApprovalRequested,
        State::Approved => Kind::ApprovalApproved,
        State::Done => Kind::ApprovalDone,
        State::Failed => Kind::ApprovalFailed,
        State::Denied => Kind::ApprovalDenied,
        State::Cancelled => Kind::ApprovalCancelled,
        State::Expired => Kind::ApprovalExpired,
    }
}

/// One approval.
///
/// # Errors
/// When the table cannot be read.
pub fn find(conn: &Connection, id: ApprovalId) -> Result<Option<ApprovalRow>, StoreError> {
    let row = conn
        .prepare_cached(&select("a.payload", "WHERE a.id = ?1"))?
        .query_row([id.0], read)
        .optional()?;
    Ok(row)
}

/// What a requester used an idempotency key for: the approval and the digest of that request.
///
/// # Errors
/// When the table cannot be read.
pub fn by_key(
    conn: &Connection,
    requester: AgentId,
    key: &str,
) -> Result<Option<(ApprovalId, String)>, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT id, asked FROM approvals WHERE requester_id = ?1 AND idem_key = ?2",
        )?
        .query_row(params![requester.0, key], |row| {
            Ok((ApprovalId(row.get(0)?), row.get(1)?))
        })
        .optional()?;
    Ok(found)
}

/// The newest ones, oldest first, without their payloads.
///
/// # Errors
/// When the table cannot be read.
pub fn list(conn: &Connection, listing: Listing) -> Result<Vec<ApprovalRow>, StoreError> {
    let which = match listing {
        Listing::Pending => "WHERE a.state = 'pending'",
        Listing::All => "",
    };
    let sql = select("''", &format!("{which} ORDER BY a.id DESC LIMIT {ROWS}"));
    let mut rows = all(conn, &sql, [])?;
    rows.reverse();
    Ok(rows)
}

/// What an agent's own requests wait for, oldest first, without payloads.
///
/// # Errors
/// When the table cannot be read.
pub fn pending_of(conn: &Connection, requester: AgentId) -> Result<Vec<ApprovalRow>, StoreError> {
    let which = "WHERE a.state = 'pending' AND a.requester_id = ?1 ORDER BY a.id";
    all(conn, &select("''", which), [requester.0])
}

/// What waits to change a subject.
///
/// # Errors
/// When the table cannot be read.
pub fn pending_on(conn: &Connection, subject: &str) -> Result<Vec<ApprovalRow>, StoreError> {
    let which = "WHERE a.state = 'pending' AND a.subject = ?1 AND a.subject <> '' ORDER BY a.id";
    all(conn, &select("''", which), [subject])
}

/// At most `limit` pending ones whose time is over or whose requester was purged, without payloads.
///
/// # Errors
/// When the table cannot be read.
pub fn stale(conn: &Connection, now: UnixMs, limit: u32) -> Result<Vec<ApprovalRow>, StoreError> {
    let which = "WHERE a.state = 'pending' AND (a.expires_at <= ?1 OR asks.purged = 1)
        ORDER BY a.expires_at LIMIT ?2";
    all(conn, &select("''", which), params![now.0, limit])
}

/// When the next pending one's time is over.
///
/// # Errors
/// When the table cannot be read.
pub fn next_expiry(conn: &Connection) -> Result<Option<UnixMs>, StoreError> {
    let at: Option<i64> = conn
        .prepare_cached("SELECT MIN(expires_at) FROM approvals WHERE state = 'pending'")?
        .query_row([], |row| row.get(0))?;
    Ok(at.map(UnixMs))
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Result<Vec<ApprovalRow>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApprovalRow> {
    let state: String = row.get(11)?;
    Ok(ApprovalRow {
        id: ApprovalId(row.get(0)?),
        kind: row.get(1)?,
        agent: AgentId(row.get(2)?),
        agent_name: row.get(3)?,
        requester: AgentId(row.get(4)?),
        requester_name: row.get(5)?,
        orphaned: row.get(6)?,
        subject: row.get(7)?,
        description: row.get(8)?,
        payload: row.get(9)?,
        digest: row.get(10)?,
        state: State::parse(&state).ok_or_else(|| super::odd(11, &state))?,
        requested_at: UnixMs(row.get(12)?),
        expires_at: UnixMs(row.get(13)?),
        decided_at: row.get::<_, Option<i64>>(14)?.map(UnixMs),
        decided_by: row.get(15)?,
        note: row.get(16)?,
        result: row.get(17)?,
        finished_at: row.get::<_, Option<i64>>(18)?.map(UnixMs),
    })
}
