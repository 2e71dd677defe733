//! Asking: every check comes before the first write.

use std::time::Duration;

use hive_proto::ids::{AgentId, QuestionId, UnixMs};
use hive_proto::limits;

use super::error::{QuestionError, split};
use crate::helper_event::{self, HelperEvent};
use crate::inbox::Novelty;
use crate::shutdown::Tasks;
use crate::store::questions::{self as table, Choice, NewQuestion, QuestionRow};
use crate::store::{Recipient, Store, StoreError, Tx, messages, roster};
use crate::topology::{self, Sender, Target, Targets};

/// The questions service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Questions {
    pub(super) store: Store,
    pub(super) tasks: Tasks,
    pub(super) limits: Limits,
}

/// What agents may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open questions of one agent.
    pub open: u32,
    /// Longest time to answer.
    pub ttl: Duration,
    /// Unfinished rows of a peer's mailbox.
    pub mailbox_rows: u32,
}

/// A question to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    pub question: String,
    pub options: Vec<String>,
    pub choice: Choice,
    /// None: it waits for ever. More than the limit is taken as the limit.
    pub ttl: Option<Duration>,
    /// Empty: the operator.
    pub to: String,
    /// Unique for the asker.
    pub key: Option<String>,
}

/// An accepted question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub id: QuestionId,
    pub novelty: Novelty,
    pub target: Recipient,
    pub target_name: String,
    pub deadline_at: Option<UnixMs>,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            open: limits::QUESTIONS_OPEN,
            ttl: Duration::from_secs(limits::QUESTION_TTL_SECS),
            mailbox_rows: limits::MAILBOX_ROWS,
        }
    }
}

// === impl Questions ===

impl Questions {
    #[must_use]
    pub fn new(store: Store, tasks: Tasks, limits: Limits) -> Self {
        Self {
            store,
            tasks,
            limits,
        }
    }

    /// Asks the operator or a peer; it is on disk, and in the peer's inbox, when this returns.
    ///
    /// # Errors
    /// A refusal, or the store's failure; nothing was asked then.
    pub async fn ask(&self, asker: AgentId, asking: Asking) -> Result<Asked, QuestionError> {
        check(&asking)?;
        let limits = self.limits;
        self.store
            .write(move |tx| split(ask(tx, limits, asker, &asking)))
            .await?
    }
}

fn check(asking: &Asking) -> Result<(), QuestionError> {
    text("question", &asking.question, limits::QUESTION_BYTES)?;
    let count = asking.options.len();
    if count > limits::OPTIONS {
        let most = limits::OPTIONS;
        return Err(QuestionError::TooManyOptions { count, most });
    }
    for (at, option) in asking.options.iter().enumerate() {
        text("option", option, limits::OPTION_BYTES)?;
        if asking.options[..at].contains(option) {
            return Err(QuestionError::OptionTwice(
                option.chars().take(80).collect(),
            ));
        }
    }
    if asking.choice == Choice::Many && count == 0 {
        return Err(QuestionError::NothingToChoose);
    }
    match &asking.key {
        Some(key) if key.len() > limits::KEY_BYTES => Err(QuestionError::TooLong {
            what: "idempotency key",
            bytes: key.len(),
            most: limits::KEY_BYTES,
        }),
        Some(_) | None => Ok(()),
    }
}

/// There is something in it, and not too much.
pub(super) fn text(what: &'static str, text: &str, most: usize) -> Result<(), QuestionError> {
    let bytes = text.len();
    if text.trim().is_empty() {
        return Err(QuestionError::Empty(what));
    }
    if bytes > most {
        return Err(QuestionError::TooLong { what, bytes, most });
    }
    Ok(())
}

fn ask(
    tx: &mut Tx<'_>,
    limits: Limits,
    asker: AgentId,
    asking: &Asking,
) -> Result<Asked, QuestionError> {
    let key = asking.key.as_deref().filter(|key| !key.is_empty());
    // Before anything else: the first call was accepted, whatever has changed since.
    if let Some(key) = key
        && let Some(row) = table::by_key(tx.conn(), asker, key)?
    {
        return again(row, asking);
    }
    let target = target(tx, asker, &asking.to)?;
    let open = table::open_count(tx.conn(), asker)?;
    if open >= limits.open {
        return Err(QuestionError::TooManyOpen { open });
    }
    admit(tx, limits, &target)?;
    let deadline_at = asking.ttl.map(|ttl| {
        let ms = ttl.min(limits.ttl).as_millis();
        tx.now().plus_ms(i64::try_from(ms).unwrap_or(i64::MAX))
    });
    let new = NewQuestion {
        asker,
        target: target.recipient,
        question: &asking.question,
        options: &asking.options,
        choice: asking.choice,
        deadline_at,
        key,
    };
    let id = table::insert(tx, &new)?;
    if let Recipient::Agent(peer) = target.recipient {
        tell(tx, id, peer, &new)?;
    }
    Ok(Asked {
        id,
        novelty: Novelty::New,
        target: target.recipient,
        target_name: target.name,
        deadline_at,
    })
}

fn again(row: QuestionRow, asking: &Asking) -> Result<Asked, QuestionError> {
    let same = row.question == asking.question
        && row.options == asking.options
        && row.choice == asking.choice;
    if !same {
        return Err(QuestionError::KeyConflict(row.id));
    }
    Ok(Asked {
        id: row.id,
        novelty: Novelty::Duplicate,
        target: row.target,
        target_name: row.target_name,
        deadline_at: row.deadline_at,
    })
}

fn target(tx: &Tx<'_>, asker: AgentId, to: &str) -> Result<Target, QuestionError> {
    let to = if to.is_empty() { "operator" } else { to };
    match topology::resolve(tx.conn(), Sender::Agent(asker), to)? {
        Targets::One(target) if target.recipient == Recipient::Agent(asker) => {
            Err(QuestionError::ToItself)
        }
        Targets::One(target) => {
            may_write(tx, asker, target.recipient, &target.name)?;
            Ok(target)
        }
        Targets::All(_) => Err(QuestionError::ToEveryone),
    }
}

/// What one asks or answers reaches the other like a message, so the same list is asked.
pub(super) fn may_write(
    tx: &Tx<'_>,
    from: AgentId,
    to: Recipient,
    to_name: &str,
) -> Result<(), QuestionError> {
    if topology::may_write(tx.conn(), from, to)? {
        return Ok(());
    }
    let member = roster::member(tx.conn(), from)?;
    Err(QuestionError::NotAllowed {
        from: member.map_or_else(String::new, |member| member.name),
        to: to_name.to_owned(),
    })
}

/// A peer's question is a message; the operator's is a row of `hive question ls`.
fn admit(tx: &Tx<'_>, limits: Limits, target: &Target) -> Result<(), QuestionError> {
    if target.recipient == Recipient::Operator {
        return Ok(());
    }
    match messages::full(tx, target.recipient, limits.mailbox_rows)? {
        None => Ok(()),
        Some(rows) => Err(QuestionError::MailboxFull {
            to: target.name.clone(),
            rows,
        }),
    }
}

fn tell(
    tx: &mut Tx<'_>,
    id: QuestionId,
    peer: AgentId,
    new: &NewQuestion<'_>,
) -> Result<(), StoreError> {
    let asker = roster::member(tx.conn(), new.asker)?.map_or_else(String::new, |one| one.name);
    let event = HelperEvent::QuestionAsked {
        id,
        asker: &asker,
        question: new.question,
        options: new.options,
        multi: new.choice == Choice::Many,
        deadline_at: new.deadline_at.map(UnixMs::rfc3339),
    };
    helper_event::post(tx, peer, &event)?;
    Ok(())
}
