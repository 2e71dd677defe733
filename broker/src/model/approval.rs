//! An approval's life.
//!
//! ```text
//!               Approved            Carried(Done)
//!   Pending ─────────────▶ Approved ─────────────▶ Done
//!     │ │ │                   │      Carried(Failed)
//!     │ │ │                   └──────────────────▶ Failed
//!     │ │ └─ Denied ────▶ Denied
//!     │ └─── Withdrawn ─▶ Cancelled
//!     └───── TimedOut ──▶ Expired
//! ```
//!
//! - Approved, Denied: a person decided, once; who comes second learns who was first.
//! - Carried: the intent of an approved one was carried out, or cannot be.
//! - Withdrawn: its requester or a manager above it took it back, its requester was purged, or what it
//!   was to change was changed otherwise or ended.
//! - TimedOut: nobody decided in time.

/// Where an approval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Pending,
    Approved,
    Done,
    Failed,
    Denied,
    Cancelled,
    Expired,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Approved,
    Denied,
    Withdrawn,
    TimedOut,
    Carried(Carried),
}

/// What came of the effect of an approved one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    Done,
    Failed,
}

/// That cannot happen to an approval in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to an approval that is {from:?}")]
pub struct Illegal {
    pub from: State,
    pub event: Event,
}

// === impl State ===

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Approved,
        Self::Done,
        Self::Failed,
        Self::Denied,
        Self::Cancelled,
        Self::Expired,
    ];

    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The reverse of [`Self::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether nothing more happens to it.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Pending | Self::Approved => false,
            Self::Done | Self::Failed | Self::Denied | Self::Cancelled | Self::Expired => true,
        }
    }
}

/// What follows.
///
/// # Errors
/// When the event cannot happen in this state.
pub fn next(from: State, event: Event) -> Result<State, Illegal> {
    match (from, event) {
        (State::Pending, Event::Approved) => Ok(State::Approved),
        (State::Pending, Event::Denied) => Ok(State::Denied),
        (State::Pending, Event::Withdrawn) => Ok(State::Cancelled),
        (State::Pending, Event::TimedOut) => Ok(State::Expired),
        (State::Approved, Event::Carried(Carried::Done)) => Ok(State::Done),
        (State::Approved, Event::Carried(Carried::Failed)) => Ok(State::Failed),
        (State::Pending, Event::Carried(_))
        | (State::Approved, Event::Approved | Event::Denied | Event::Withdrawn | Event::TimedOut)
        | (
            State::Done | State::Failed | State::Denied | State::Cancelled | State::Expired,
            Event::Approved
            | Event::Denied
            | Event::Withdrawn
            | Event::TimedOut
            | Event::Carried(_),
        ) => Err(Illegal { from, event }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Carried, Event, State, next};

    const EVENTS: [Event; 6] = [
        Event::Approved,
        Event::Denied,
        Event::Withdrawn,
        Event::TimedOut,
        Event::Carried(Carried::Done),
        Event::Carried(Carried::Failed),
    ];

    #[test]
    fn words_are_read_back() {
        for state in State::ALL {
            assert_eq!(State::parse(state.word()), Some(state));
        }
        assert_eq!(State::parse("maybe"), None);
    }

    #[test]
    fn what_is_final_stays_as_it_is() {
        for state in State::ALL {
            let moves = EVENTS.iter().filter(|e| next(state, **e).is_ok()).count();
            assert_eq!(moves == 0, state.is_final(), "{state:?}");
        }
    }

    proptest! {
        /// Nothing is carried out that was not approved, and nothing is decided twice.
        #[test]
        fn effects_come_from_a_yes_alone(events in proptest::collection::vec(0..6_usize, 0..20)) {
            let (mut state, mut decisions, mut effects) = (State::Pending, 0, 0);
            for event in events.into_iter().map(|at| EVENTS[at]) {
                let Ok(after) = next(state, event) else { continue };
                match event {
                    Event::Carried(_) => {
                        effects += 1;
                        prop_assert_eq!(state, State::Approved);
                    }
                    Event::Approved | Event::Denied | Event::Withdrawn | Event::TimedOut => {
                        decisions += 1;
                    }
                }
                state = after;
            }
            prop_assert!(decisions <= 1 && effects <= 1);
        }
    }
}
