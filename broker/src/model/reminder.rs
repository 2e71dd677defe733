//! A reminder's life.
//!
//! ```text
//!              Fire                         Fire, refused for the 5th time
//!  Pending ──────────▶ Fired    Pending ───────────────────────────────────▶ Failed
//!    │  ▲                          ▲                                           │ │
//!    │  └ Fire, refused            └───────────────────────────────────────────┘ │
//!    │    (later again)                           Retry                          │
//!    └────────────▶ Cancelled ◀──────────────────────────────────────────────────┘
//!       Cancel                                    Cancel
//! ```
//!
//! - Fire: the reconciler `reminders`, once its time has come; refused when the mailbox is full.
//! - Retry: the operator.
//! - Cancel: its agent, a manager above it, the operator, or hive when the agent is purged.

use hive_proto::ids::UnixMs;
use hive_proto::limits::REMINDER_ATTEMPTS;

use super::retry::Retry;

/// Where a reminder is. `attempts` counts the tries that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending {
        attempts: u32,
        /// Back-off after a failed try.
        not_before: Option<UnixMs>,
    },
    Fired,
    Failed {
        attempts: u32,
    },
    Cancelled,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Delivered,
    Refused(UnixMs),
    Retry,
    Cancel,
}

/// That cannot happen to a reminder in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to a reminder that is {from:?}")]
pub struct Illegal {
    pub from: State,
    pub event: Event,
}

/// What follows.
///
/// # Errors
/// When the event cannot happen in this state.
pub fn next(from: State, event: Event) -> Result<State, Illegal> {
    match (from, event) {
        (State::Pending { .. }, Event::Delivered) => Ok(State::Fired),
        (State::Pending { attempts, .. }, Event::Refused(now)) => Ok(refused(attempts + 1, now)),
        (State::Failed { .. }, Event::Retry) => Ok(State::Pending {
            attempts: 0,
            not_before: None,
        }),
        (State::Pending { .. } | State::Failed { .. }, Event::Cancel) => Ok(State::Cancelled),
        (State::Pending { .. }, Event::Retry)
        | (State::Failed { .. }, Event::Delivered | Event::Refused(_))
        | (
            State::Fired | State::Cancelled,
            Event::Delivered | Event::Refused(_) | Event::Retry | Event::Cancel,
        ) => Err(Illegal { from, event }),
    }
}

fn refused(attempts: u32, now: UnixMs) -> State {
    if attempts >= REMINDER_ATTEMPTS {
        return State::Failed { attempts };
    }
    State::Pending {
        attempts,
        not_before: Some(now.plus_ms(Retry::default().backoff_ms(attempts))),
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{Event, State, next};

    const NEW: State = State::Pending {
        attempts: 0,
        not_before: None,
    };

    #[test]
    fn the_fifth_refusal_is_the_last_and_a_retry_forgets_them() {
        let mut state = NEW;
        let mut waits = Vec::new();
        for _ in 0..4 {
            state = next(state, Event::Refused(UnixMs(0))).unwrap();
            let State::Pending { not_before, .. } = state else {
                panic!("{state:?}");
            };
            waits.push(not_before.unwrap().0);
        }
        assert_eq!(waits, [5_000, 10_000, 20_000, 40_000]);
        state = next(state, Event::Refused(UnixMs(0))).unwrap();
        assert_eq!(state, State::Failed { attempts: 5 });
        assert!(next(state, Event::Delivered).is_err());
        assert_eq!(next(state, Event::Retry), Ok(NEW));
        assert_eq!(next(state, Event::Cancel), Ok(State::Cancelled));
    }

    #[test]
    fn what_is_over_is_over() {
        for over in [State::Fired, State::Cancelled] {
            for event in [
                Event::Delivered,
                Event::Refused(UnixMs(0)),
                Event::Retry,
                Event::Cancel,
            ] {
                assert!(next(over, event).is_err(), "{over:?} {event:?}");
            }
        }
        assert!(next(NEW, Event::Retry).is_err());
    }
}
