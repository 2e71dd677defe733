//! A message's life.
//!
//! ```text
//!            Taken                Settled(Finish)
//!  Queued ───────────▶ Leased ───────────────────▶ Acked
//!    ▲ │ │              │  │
//!    │ │ │ Read         │  │ Settled(Requeue), counted once too often
//!    │ │ └──▶ Acked     │  └──────────────────────▶ Dead
//!    │ └────────────────┼─────────────────────────▶ Dead
//!    │   RecipientPurged│                            │
//!    ├──────────────────┘                            │
//!    │ Settled(Requeue)                              │
//!    └───────────────────────────────────────────────┘
//!                        Revived
//! ```
//!
//! - Taken: a harness popped it under a turn.
//! - Settled: that turn ended, or its session did.
//! - Read: the operator read it; such a message is never leased.
//! - RecipientPurged: the agent that it waited for is gone for good. A leased one is settled first.
//! - Revived: the operator put it back, its deaths forgotten.

use hive_proto::ids::UnixMs;

use super::outcome::{Finish, Requeue, Settlement};
use super::retry::Retry;

/// Where a message is. `attempt` counts its deaths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Queued {
        attempt: u32,
        not_before: Option<UnixMs>,
        delivery: Delivery,
    },
    Leased {
        attempt: u32,
        delivery: Delivery,
    },
    Acked(Finish),
    Dead {
        attempt: u32,
    },
}

/// Whether it was handed out before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    First,
    /// An earlier delivery did not end in an ack.
    Again,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Taken,
    Settled(Settlement, UnixMs),
    Read,
    /// Whoever it is for is gone for good.
    RecipientPurged,
    Revived,
}

/// That cannot happen to a message in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to a message that is {from:?}")]
pub struct Illegal {
    pub from: State,
    pub event: Event,
}

/// What follows.
///
/// # Errors
/// When the event cannot happen in this state.
pub fn next(retry: &Retry, from: State, event: Event) -> Result<State, Illegal> {
    match (from, event) {
        (
            State::Queued {
                attempt, delivery, ..
            },
            Event::Taken,
        ) => Ok(State::Leased { attempt, delivery }),
        (State::Queued { .. }, Event::Read) => Ok(State::Acked(Finish::Read)),
        (State::Queued { attempt, .. }, Event::RecipientPurged) => Ok(State::Dead { attempt }),
        (State::Leased { .. }, Event::Settled(Settlement::Finish(how), _)) => Ok(State::Acked(how)),
        (State::Leased { attempt, .. }, Event::Settled(Settlement::Requeue(how), now)) => {
            Ok(requeued(retry, attempt, how, now))
        }
        (State::Dead { .. }, Event::Revived) => Ok(State::Queued {
            attempt: 0,
            not_before: None,
            delivery: Delivery::Again,
        }),
        (State::Queued { .. }, Event::Settled(..) | Event::Revived)
        | (
            State::Leased { .. },
            Event::Taken | Event::Read | Event::RecipientPurged | Event::Revived,
        )
        | (State::Acked(_), _)
        | (
            State::Dead { .. },
            Event::Taken | Event::Settled(..) | Event::Read | Event::RecipientPurged,
        ) => Err(Illegal { from, event }),
    }
}

fn requeued(retry: &Retry, attempt: u32, how: Requeue, now: UnixMs) -> State {
    let (attempt, not_before) = match how {
        Requeue::Uncounted => (attempt, None),
        Requeue::Counted => (attempt + 1, None),
        Requeue::CountedBackoff => {
            let wait = retry.backoff_ms(attempt + 1);
            (attempt + 1, Some(now.plus_ms(wait)))
        }
    };
    if attempt > retry.attempts {
        return State::Dead { attempt };
    }
    State::Queued {
        attempt,
        not_before,
        delivery: Delivery::Again,
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use proptest::prelude::*;

    use super::{Delivery, Event, Illegal, State};
    use crate::model::outcome::{Finish, Requeue, Settlement};
    use crate::model::retry::Retry;

    const NEW: State = State::Queued {
        attempt: 0,
        not_before: None,
        delivery: Delivery::First,
    };

    fn next(state: State, event: Event) -> Result<State, Illegal> {
        super::next(&Retry::default(), state, event)
    }

    fn die_by(retry: &Retry, state: State, how: Requeue) -> State {
        let leased = super::next(retry, state, Event::Taken).unwrap();
        let settled = Event::Settled(Settlement::Requeue(how), UnixMs(1_000));
        super::next(retry, leased, settled).unwrap()
    }

    fn die(state: State, how: Requeue) -> State {
        die_by(&Retry::default(), state, how)
    }

    #[test]
    fn the_rule_says_which_death_is_the_last() {
        let retry = Retry {
            attempts: 1,
            ..Retry::default()
        };
        for how in [Requeue::Counted, Requeue::CountedBackoff] {
            let once = die_by(&retry, NEW, how);
            assert!(matches!(once, State::Queued { attempt: 1, .. }), "{once:?}");
            assert_eq!(die_by(&retry, once, how), State::Dead { attempt: 2 });
        }
    }

    #[test]
    fn the_sixth_death_is_the_last() {
        for how in [Requeue::Counted, Requeue::CountedBackoff] {
            let mut state = NEW;
            for death in 1..=5 {
                state = die(state, how);
                assert!(
                    matches!(state, State::Queued { attempt, .. } if attempt == death),
                    "{state:?}"
                );
            }
            assert_eq!(die(state, how), State::Dead { attempt: 6 });
        }
    }

    #[test]
    fn parks_never_kill() {
        let mut state = NEW;
        for _ in 0..100 {
            state = die(state, Requeue::Uncounted);
        }
        let again = State::Queued {
            attempt: 0,
            not_before: None,
            delivery: Delivery::Again,
        };
        assert_eq!(state, again);
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let settlement = prop_oneof![
            Just(Settlement::Finish(Finish::Ok)),
            Just(Settlement::Finish(Finish::Failed)),
            Just(Settlement::Requeue(Requeue::Uncounted)),
            Just(Settlement::Requeue(Requeue::Counted)),
            Just(Settlement::Requeue(Requeue::CountedBackoff)),
        ];
        prop_oneof![
            Just(Event::Taken),
            Just(Event::Read),
            Just(Event::RecipientPurged),
            Just(Event::Revived),
            settlement.prop_map(|how| Event::Settled(how, UnixMs(5))),
        ]
    }

    proptest! {
        /// Acked is final; deaths only grow (but for a revival); a leased message was never acked.
        #[test]
        fn no_run_of_events_breaks_the_life(events in proptest::collection::vec(any_event(), 0..60)) {
            let mut state = NEW;
            let mut deaths = 0;
            for event in events {
                let Ok(after) = next(state, event) else { continue };
                prop_assert!(!matches!(state, State::Acked(_)));
                match after {
                    State::Queued { attempt, .. } | State::Leased { attempt, .. } => {
                        prop_assert!(attempt <= 5);
                        prop_assert!(attempt >= deaths || event == Event::Revived);
                        deaths = attempt;
                    }
                    State::Dead { attempt } if event == Event::RecipientPurged => {
                        prop_assert!(attempt <= 5);
                    }
                    State::Dead { attempt } => prop_assert_eq!(attempt, 6),
                    State::Acked(_) => {}
                }
                state = after;
            }
        }
    }
}
