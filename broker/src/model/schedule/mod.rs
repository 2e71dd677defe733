//! A schedule, pure in `now`: its timetable, what is due, what is skipped and why, and its life.
//!
//! ```text
//!            Spent
//!  Active ──────────▶ Done
//!    │
//!    └─ Cancelled ──▶ Cancelled
//! ```
//!
//! - Spent: its only slot was settled, or fired by hand.
//! - Cancelled: by its owner, a manager above it or the operator; or none of its targets is left.
//!
//! - [`timing`]: the slots of a timetable, with the rule for clocks that change
//! - [`cron`]: cron patterns in a time zone
//! - [`due`]: which slots are settled now, and how

mod cron;
mod due;
mod timing;

pub use cron::{Cron, CronFault};
pub use due::{Due, MISSED_ROWS, Missed, due};
pub use timing::{Timing, TimingFault};

/// Where a schedule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Active,
    Done,
    Cancelled,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Spent,
    Cancelled,
}

/// That cannot happen to a schedule in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to a schedule that is {from:?}")]
pub struct Illegal {
    pub from: State,
    pub event: Event,
}

/// What becomes of slots that passed while nothing could fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfire {
    /// The newest one fires late.
    Once,
    /// The same, but not when it is more than an hour late.
    Skip,
}

/// What becomes of a slot while the last one's message is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    Queue,
    Skip,
}

/// Why a slot did not fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skip {
    Missed,
    Late,
    Overlap,
    TargetRemoved,
    TargetGone,
    OwnerGone,
    MailboxFull,
    KeyTaken,
}

/// What follows.
///
/// # Errors
/// When the event cannot happen in this state.
pub fn next(from: State, event: Event) -> Result<State, Illegal> {
    match (from, event) {
        (State::Active, Event::Spent) => Ok(State::Done),
        (State::Active, Event::Cancelled) => Ok(State::Cancelled),
        (State::Done | State::Cancelled, Event::Spent | Event::Cancelled) => {
            Err(Illegal { from, event })
        }
    }
}

// === impl State ===

impl State {
    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    /// The reverse of [`Self::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::Done, Self::Cancelled]
            .into_iter()
            .find(|state| state.word() == word)
    }
}

// === impl Misfire ===

impl Misfire {
    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Skip => "skip",
        }
    }

    /// The reverse of [`Self::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Once, Self::Skip]
            .into_iter()
            .find(|misfire| misfire.word() == word)
    }
}

// === impl Overlap ===

impl Overlap {
    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Skip => "skip",
        }
    }

    /// The reverse of [`Self::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Queue, Self::Skip]
            .into_iter()
            .find(|overlap| overlap.word() == word)
    }
}

// === impl Skip ===

impl Skip {
    /// The reason as an occurrence bears it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Missed => "missed while down",
            Self::Late => "more than an hour late",
            Self::Overlap => "the last one is not finished",
            Self::TargetRemoved => "target removed",
            Self::TargetGone => "target is gone",
            Self::OwnerGone => "owner is gone",
            Self::MailboxFull => "mailbox full",
            Self::KeyTaken => "its key is taken",
        }
    }
}
