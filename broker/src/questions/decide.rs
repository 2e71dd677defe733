//! Deciding a question: whoever is first, and nobody after that.

use hive_proto::ids::{AgentId, MessageId, QuestionId};
use hive_proto::limits::ANSWER_BYTES;
use hive_proto::v1::QuestionState;

use super::ask::{Questions, may_write, text};
use super::error::{QuestionError, split};
use crate::helper_event::{self, HelperEvent};
use crate::model::event::Kind;
use crate::model::question::{self, CANCELLED, EXPIRED, Event, Part, State, WATCHDOG};
use crate::store::questions::{self as table, Closing, QuestionRow, Whose};
use crate::store::roster::{self, Life};
use crate::store::{Recipient, StoreError, Tx};
use crate::topology;

/// Who wants to decide, as the socket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    Operator,
    Agent(AgentId),
}

/// Whether the asker learns of it by a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Asker,
    /// It is the asker's own doing, or the asker is gone.
    Nobody,
}

/// What the same decision once more is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    /// The call that was made again because its reply was lost.
    AreTheSame,
    /// Too late, like any other.
    AreLate,
}

/// One decision.
struct Decision<'a> {
    event: Event,
    answer: &'a str,
    answerer: &'a str,
    why: &'a str,
    telling: Telling,
    repeats: Repeats,
}

/// Questions that one run expires.
const BATCH: u32 = 200;

// === impl Questions ===

impl Questions {
    /// Answers a question, as its target or as the operator.
    ///
    /// # Errors
    /// When it is not the caller's to answer, when somebody was first or its time is over; the store.
    pub async fn answer(
        &self,
        by: Decider,
        id: QuestionId,
        answer: String,
    ) -> Result<QuestionRow, QuestionError> {
        text("answer", &answer, ANSWER_BYTES)?;
        self.store
            .write(move |tx| split(answer_one(tx, by, id, &answer)))
            .await?
    }

    /// Withdraws a question, as its asker, a manager above it, or the operator.
    ///
    /// # Errors
    /// When it is not the caller's to cancel, when somebody was first; the store.
    pub async fn cancel(&self, by: Decider, id: QuestionId) -> Result<QuestionRow, QuestionError> {
        self.store
            .write(move |tx| split(cancel_for(tx, by, id)))
            .await?
    }

    /// Expires what is over its deadline; says how many.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn expire_due(&self) -> Result<usize, StoreError> {
        let mut total = 0;
        loop {
            let expired = self.store.write(expire_batch).await?;
            total += expired;
            if expired < BATCH as usize {
                return Ok(total);
            }
        }
    }
}

/// The same inside a transaction.
///
/// # Errors
/// See [`Questions::cancel`].
pub fn cancel_for(
    tx: &mut Tx<'_>,
    by: Decider,
    id: QuestionId,
) -> Result<QuestionRow, QuestionError> {
    let row = existing(tx, id)?;
    if !question::may(part(tx, by, &row)?, Event::Cancel) {
        let asker = row.asker_name;
        return Err(QuestionError::NotAsker { id, asker });
    }
    let (answer, answerer) = match by {
        Decider::Operator => (CANCELLED.to_owned(), "operator".to_owned()),
        Decider::Agent(agent) => {
            let name = name_of(tx, agent)?;
            (question::cancelled_by(&name), name)
        }
    };
    let telling = match by {
        Decider::Agent(agent) if agent == row.asker => Telling::Nobody,
        Decider::Agent(_) | Decider::Operator => Telling::Asker,
    };
    let decision = Decision {
        event: Event::Cancel,
        answer: &answer,
        answerer: &answerer,
        why: "",
        telling,
        repeats: repeats(by),
    };
    decide(tx, &row, &decision)
}

/// Ends what can come to no end any more: questions of an agent that is removed, and questions to it.
///
/// # Errors
/// When the rows cannot be read or written.
pub fn asker_or_target_is_gone(tx: &mut Tx<'_>, agent: AgentId) -> Result<(), StoreError> {
    let name = name_of(tx, agent)?;
    let why = format!("{name} was removed");
    let asked = table::open(tx.conn(), Whose::AskedBy(agent))?;
    let asked_of = table::open(tx.conn(), Whose::AskedOf(Recipient::Agent(agent)))?;
    for row in asked.iter().chain(&asked_of) {
        let gone =
            roster::member(tx.conn(), row.asker)?.is_none_or(|member| member.life == Life::Removed);
        let decision = Decision {
            event: Event::Cancel,
            answer: CANCELLED,
            answerer: "system",
            why: &why,
            telling: match gone || row.asker == agent {
                true => Telling::Nobody,
                false => Telling::Asker,
            },
            repeats: Repeats::AreLate,
        };
        match decide(tx, row, &decision) {
            // Expired is as much of an end.
            Ok(_) | Err(QuestionError::AlreadyDecided { .. }) => {}
            Err(QuestionError::Store(failure)) => return Err(failure),
            Err(other) => return Err(StoreError::Illegal(other.to_string())),
        }
    }
    Ok(())
}

fn answer_one(
    tx: &mut Tx<'_>,
    by: Decider,
    id: QuestionId,
    answer: &str,
) -> Result<QuestionRow, QuestionError> {
    let row = existing(tx, id)?;
    if !question::may(part(tx, by, &row)?, Event::Answer) {
        let target = row.target_name;
        return Err(QuestionError::NotTarget { id, target });
    }
    if let Decider::Agent(agent) = by
        && row.state == QuestionState::Open
    {
        may_write(tx, agent, Recipient::Agent(row.asker), &row.asker_name)?;
    }
    let answerer = match by {
        Decider::Operator => "operator".to_owned(),
        Decider::Agent(agent) => name_of(tx, agent)?,
    };
    let decision = Decision {
        event: Event::Answer,
        answer,
        answerer: &answerer,
        why: "",
        telling: Telling::Asker,
        repeats: repeats(by),
    };
    decide(tx, &row, &decision)
}

/// Tools retry while the broker is away; a person who is second learns who was first.
fn repeats(by: Decider) -> Repeats {
    match by {
        Decider::Agent(_) => Repeats::AreTheSame,
        Decider::Operator => Repeats::AreLate,
    }
}

fn expire_batch(tx: &mut Tx<'_>) -> Result<usize, StoreError> {
    let rows = table::overdue(tx.conn(), tx.now(), BATCH)?;
    for row in &rows {
        expire(tx, row)?;
    }
    Ok(rows.len())
}

/// Decides, or expires when the time is over: that was first then.
fn decide(
    tx: &mut Tx<'_>,
    row: &QuestionRow,
    decision: &Decision<'_>,
) -> Result<QuestionRow, QuestionError> {
    let Ok(after) = question::next(row.life(), decision.event, tx.now()) else {
        // An agent's call is made again when its reply was lost: it hears the same once more.
        let same = (row.answer.as_str(), row.answerer.as_str());
        return match decision.repeats == Repeats::AreTheSame
            && same == (decision.answer, decision.answerer)
        {
            true => Ok(row.clone()),
            false => Err(QuestionError::decided(row)),
        };
    };
    let (kind, state) = match after {
        State::Answered => (Kind::QuestionAnswered, QuestionState::Answered),
        State::Cancelled => (Kind::QuestionCancelled, QuestionState::Cancelled),
        State::Expired => {
            expire(tx, row)?;
            return Err(QuestionError::decided(&existing(tx, row.id)?));
        }
        State::Open { .. } => return Ok(row.clone()),
    };
    let message = match decision.telling {
        Telling::Asker => Some(tell(
            tx,
            row,
            decision.answer,
            decision.answerer,
            decision.why,
        )?),
        Telling::Nobody => None,
    };
    let closing = Closing {
        kind,
        state,
        answer: decision.answer,
        answerer: decision.answerer,
        message,
        why: decision.why,
    };
    table::close(tx, row, &closing)?;
    // Without a message, whoever waits for it inside a turn is woken all the same.
    tx.wake(Recipient::Agent(row.asker));
    existing(tx, row.id)
}

fn expire(tx: &mut Tx<'_>, row: &QuestionRow) -> Result<(), StoreError> {
    let message = tell(tx, row, EXPIRED, WATCHDOG, "")?;
    let closing = Closing {
        kind: Kind::QuestionExpired,
        state: QuestionState::Expired,
        answer: EXPIRED,
        answerer: WATCHDOG,
        message: Some(message),
        why: "",
    };
    table::close(tx, row, &closing)
}

fn tell(
    tx: &mut Tx<'_>,
    row: &QuestionRow,
    answer: &str,
    answerer: &str,
    why: &str,
) -> Result<MessageId, StoreError> {
    let event = HelperEvent::QuestionAnswered {
        id: row.id,
        question: &row.question,
        answer,
        answerer,
        why,
    };
    helper_event::post(tx, row.asker, &event)
}

fn part(tx: &Tx<'_>, by: Decider, row: &QuestionRow) -> Result<Part, StoreError> {
    let Decider::Agent(agent) = by else {
        return Ok(Part::Operator);
    };
    if agent == row.asker {
        return Ok(Part::Asker);
    }
    if row.target == Recipient::Agent(agent) {
        return Ok(Part::Target);
    }
    Ok(match topology::manages(tx.conn(), agent, row.asker)? {
        true => Part::Above,
        false => Part::Stranger,
    })
}

fn existing(tx: &Tx<'_>, id: QuestionId) -> Result<QuestionRow, QuestionError> {
    table::find(tx.conn(), id)?.ok_or(QuestionError::NoSuchQuestion(id))
}

fn name_of(tx: &Tx<'_>, agent: AgentId) -> Result<String, StoreError> {
    Ok(roster::member(tx.conn(), agent)?
        .map_or_else(|| format!("agent {agent}"), |member| member.name))
}
