//! A question's life: decided once, by whoever is first.
//!
//! ```text
//!        Answer              ┌──▶ Answered
//!  Open ────────── in time ──┤
//!   │    Cancel              └──▶ Cancelled
//!   │
//!   └─── whatever happens at its deadline or later ──▶ Expired
//! ```
//!
//! - Answer: its target, or the operator in the target's place.
//! - Cancel: its asker, a manager above the asker, the operator, or hive when asker or target is gone.
//! - Look: the reconciler `expiry` looks whether its time is over. An answer that comes after the
//!   deadline and before that look is too late all the same.

use hive_proto::ids::UnixMs;

/// Where a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open {
        /// None: it waits for ever.
        deadline_at: Option<UnixMs>,
    },
    Answered,
    Expired,
    Cancelled,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Answer,
    Cancel,
    Look,
}

/// It is decided, and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to a question that is {from:?}")]
pub struct Decided {
    pub from: State,
    pub event: Event,
}

/// Who may put an end to a question, besides time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Operator,
    /// Asked it.
    Asker,
    /// Was asked.
    Target,
    /// A manager that the asker is below of.
    Above,
    Stranger,
}

/// The answer of a question that ran out of time.
pub const EXPIRED: &str = "[expired]";
/// Who answers then.
pub const WATCHDOG: &str = "ttl-watchdog";
/// The answer of a question that the operator, or hive itself, cancelled.
pub const CANCELLED: &str = "[cancelled]";

/// What follows.
///
/// # Errors
/// When it is decided already.
pub fn next(from: State, event: Event, now: UnixMs) -> Result<State, Decided> {
    match (from, event) {
        (
            State::Open {
                deadline_at: Some(at),
            },
            Event::Answer | Event::Cancel | Event::Look,
        ) if at <= now => Ok(State::Expired),
        (State::Open { .. }, Event::Answer) => Ok(State::Answered),
        (State::Open { .. }, Event::Cancel) => Ok(State::Cancelled),
        (State::Open { .. }, Event::Look) => Ok(from),
        (
            State::Answered | State::Expired | State::Cancelled,
            Event::Answer | Event::Cancel | Event::Look,
        ) => Err(Decided { from, event }),
    }
}

/// Whether this part may do that to a question of any state.
#[must_use]
pub fn may(part: Part, event: Event) -> bool {
    match (part, event) {
        (Part::Operator, Event::Answer | Event::Cancel)
        | (Part::Target, Event::Answer)
        | (Part::Asker | Part::Above, Event::Cancel) => true,
        (Part::Target, Event::Cancel)
        | (Part::Asker | Part::Above, Event::Answer)
        | (Part::Stranger, Event::Answer | Event::Cancel)
        | (_, Event::Look) => false,
    }
}

/// The answer of a question that the agent of that name withdrew.
#[must_use]
pub fn cancelled_by(name: &str) -> String {
    format!("[cancelled by {name}]")
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use proptest::prelude::*;

    use super::{Event, Part, State, may, next};

    const NOW: UnixMs = UnixMs(1_000);

    fn open(deadline: Option<i64>) -> State {
        State::Open {
            deadline_at: deadline.map(UnixMs),
        }
    }

    #[test]
    fn what_follows_what() {
        for (deadline, in_time) in [(None, true), (Some(1_001), true), (Some(1_000), false)] {
            for (event, then) in [
                (Event::Answer, State::Answered),
                (Event::Cancel, State::Cancelled),
                (Event::Look, open(deadline)),
            ] {
                let then = if in_time { then } else { State::Expired };
                assert_eq!(
                    next(open(deadline), event, NOW),
                    Ok(then),
                    "{deadline:?} {event:?}"
                );
            }
        }
    }

    #[test]
    fn only_target_and_operator_answer_and_nobody_below_cancels() {
        let rights = |part| (may(part, Event::Answer), may(part, Event::Cancel));
        assert_eq!(rights(Part::Operator), (true, true));
        assert_eq!(rights(Part::Target), (true, false));
        assert_eq!(rights(Part::Asker), (false, true));
        assert_eq!(rights(Part::Above), (false, true));
        assert_eq!(rights(Part::Stranger), (false, false));
    }

    proptest! {
        /// However many decide in whatever order: exactly one decision counts, and time never goes
        /// against it.
        #[test]
        fn the_first_decision_stays(
            deadline in proptest::option::of(0i64..50),
            events in proptest::collection::vec(
                (prop_oneof![Just(Event::Answer), Just(Event::Cancel), Just(Event::Look)], 0i64..50),
                0..20,
            ),
        ) {
            let mut state = open(deadline);
            let mut decided = None;
            for (event, at) in events {
                match next(state, event, UnixMs(at)) {
                    Ok(after @ State::Open { .. }) => prop_assert_eq!((event, after), (Event::Look, state)),
                    Ok(after) => {
                        prop_assert_eq!(decided, None);
                        prop_assert_eq!(after == State::Expired, deadline.is_some_and(|end| end <= at));
                        decided = Some(after);
                        state = after;
                    }
                    Err(why) => prop_assert_eq!(Some(why.from), decided),
                }
            }
        }
    }
}
