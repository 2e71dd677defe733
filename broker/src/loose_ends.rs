//! Loose ends: whatever is still open for an agent, of every kind, in one list, and giving one up.
//!
//! Another kind is a variant of [`Kind`]: the compiler then names what is missing.

use hive_proto::ids::{AgentId, QuestionId, ReminderId, UnixMs};
use hive_proto::name::{AgentName, NameError};
use hive_proto::v1::Role;
use hive_proto::words;

use crate::questions::{self, Decider, QuestionError};
use crate::reminders::{self, ReminderError};
use crate::store::agents::Removal;
use crate::store::questions::{QuestionRow, Whose};
use crate::store::reminders::{Owner, ReminderRow};
use crate::store::roster::{self, Life, Member};
use crate::store::{Conn, Recipient, Store, StoreError, Tx};
use crate::topology;

/// The loose-ends service; cheap to clone.
#[derive(Clone, Debug)]
pub struct LooseEnds {
    store: Store,
}

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Question,
    Reminder,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseEnd {
    pub kind: Kind,
    /// Of that kind.
    pub id: i64,
    /// Whose it is.
    pub agent: String,
    /// Who it waits for; empty for nobody but time.
    pub waits_for: String,
    pub state: &'static str,
    pub text: String,
    pub since: UnixMs,
    pub due: Option<UnixMs>,
}

/// Why there is no list, or nothing was cancelled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LooseEndError {
    #[error("there is no kind {0:?} of loose end: there are {kinds}", kinds = Kind::words())]
    UnknownKind(String),
    #[error("there is no agent {0}")]
    UnknownAgent(String),
    #[error("only a manager may look at the loose ends of others")]
    NotManager,
    #[error("{0} is not below you")]
    NotBelow(String),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Reminder(#[from] ReminderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Characters of a text that are listed.
const TEXT: usize = 200;

// === impl Kind ===

impl Kind {
    const ALL: [Self; 2] = [Self::Question, Self::Reminder];

    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Reminder => "reminder",
        }
    }

    /// # Errors
    /// When there is none of that word.
    pub fn parse(word: &str) -> Result<Self, LooseEndError> {
        let found = Self::ALL.into_iter().find(|kind| kind.word() == word);
        found.ok_or_else(|| LooseEndError::UnknownKind(word.chars().take(40).collect()))
    }

    fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

// === impl LooseEnds ===

impl LooseEnds {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// What is open for `agent`, oldest first; for a manager also for an agent below, or with `*` for
    /// itself and all of those.
    ///
    /// # Errors
    /// When it may not look there, the store's failure.
    pub async fn list(&self, agent: AgentId, of: String) -> Result<Vec<LooseEnd>, LooseEndError> {
        self.store
            .read(move |conn| split(list(conn, agent, &of)))
            .await?
    }

    /// Gives one up: one of `agent`'s own, or for a manager one of an agent below.
    ///
    /// # Errors
    /// When it is not its to cancel, when it is over; the store.
    pub async fn cancel(&self, agent: AgentId, kind: Kind, id: i64) -> Result<(), LooseEndError> {
        self.store
            .write(move |tx| split(cancel(tx, Decider::Agent(agent), kind, id)))
            .await?
    }
}

/// Ends what a removed agent leaves open: its questions, the questions to it, and with a purge its
/// reminders. Reminders of one that is merely removed wait until it is back.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn owner_is_gone(tx: &mut Tx<'_>, agent: AgentId, removal: Removal) -> Result<(), StoreError> {
    questions::asker_or_target_is_gone(tx, agent)?;
    match removal {
        Removal::Purged => reminders::owner_is_purged(tx, agent),
        Removal::Kept => Ok(()),
    }
}

fn cancel(tx: &mut Tx<'_>, by: Decider, kind: Kind, id: i64) -> Result<(), LooseEndError> {
    match kind {
        Kind::Question => questions::cancel_for(tx, by, QuestionId(id)).map(|_| ())?,
        Kind::Reminder => reminders::cancel_for(tx, by, ReminderId(id)).map(|_| ())?,
    }
    Ok(())
}

fn list(conn: &Conn, agent: AgentId, of: &str) -> Result<Vec<LooseEnd>, LooseEndError> {
    let mut all: Vec<LooseEnd> = Vec::new();
    for owner in owners(conn, agent, of)? {
        for end in open_for(conn, owner)? {
            // One between two of them is listed once.
            if !all
                .iter()
                .any(|known| (known.kind, known.id) == (end.kind, end.id))
            {
                all.push(end);
            }
        }
    }
    all.sort_by_key(|end| (end.since, end.id));
    Ok(all)
}

/// Whose loose ends `of` names, seen from `agent`.
fn owners(conn: &Conn, agent: AgentId, of: &str) -> Result<Vec<AgentId>, LooseEndError> {
    if of.is_empty() {
        return Ok(vec![agent]);
    }
    let is_manager = |member: Member| member.role == Role::Manager && member.life == Life::Living;
    let manager = roster::member(conn, agent)?.is_some_and(is_manager);
    if of == "*" {
        if !manager {
            return Err(LooseEndError::NotManager);
        }
        let mut owners = vec![agent];
        for member in roster::living(conn)? {
            if topology::manages(conn, agent, member.id)? {
                owners.push(member.id);
            }
        }
        return Ok(owners);
    }
    let unknown = || LooseEndError::UnknownAgent(of.chars().take(40).collect());
    let name: AgentName = of.parse().map_err(|_: NameError| unknown())?;
    let other = roster::named(conn, &name)?.ok_or_else(unknown)?;
    if other.id == agent {
        return Ok(vec![agent]);
    }
    if !manager {
        return Err(LooseEndError::NotManager);
    }
    match topology::manages(conn, agent, other.id)? {
        true => Ok(vec![other.id]),
        false => Err(LooseEndError::NotBelow(other.name)),
    }
}

fn open_for(conn: &Conn, agent: AgentId) -> Result<Vec<LooseEnd>, StoreError> {
    use crate::store::{questions, reminders};
    let mut ends = Vec::new();
    for kind in Kind::ALL {
        match kind {
            Kind::Question => {
                let asked = questions::open(conn, Whose::AskedBy(agent))?;
                let of = Whose::AskedOf(Recipient::Agent(agent));
                let asked_of = questions::open(conn, of)?;
                ends.extend(asked.into_iter().chain(asked_of).map(question));
            }
            Kind::Reminder => {
                let waiting = reminders::unfinished(conn, Owner::Agent(agent))?;
                ends.extend(waiting.into_iter().map(reminder));
            }
        }
    }
    Ok(ends)
}

fn question(row: QuestionRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Question,
        id: row.id.0,
        agent: row.asker_name,
        waits_for: row.target_name,
        state: words::question_state(row.state),
        text: short(&row.question),
        since: row.asked_at,
        due: row.deadline_at,
    }
}

fn reminder(row: ReminderRow) -> LooseEnd {
    LooseEnd {
        kind: Kind::Reminder,
        id: row.id.0,
        agent: row.agent_name,
        waits_for: String::new(),
        state: words::reminder_state(row.state),
        text: short(&row.body),
        since: row.set_at,
        due: Some(row.due_at),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn split<T>(result: Result<T, LooseEndError>) -> Result<Result<T, LooseEndError>, StoreError> {
    match result {
        Err(
            LooseEndError::Store(failure)
            | LooseEndError::Question(QuestionError::Store(failure))
            | LooseEndError::Reminder(ReminderError::Store(failure)),
        ) => Err(failure),
        other => Ok(other),
    }
}
