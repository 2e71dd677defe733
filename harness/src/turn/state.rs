//! What the harness is doing, as one pure function of what happened.
//!
//! ```text
//!          Popped                    Ended
//!   Idle ─────────▶ Thinking ◀────▶ Compacting        RateLimited ┐ ParkOver
//!    ▲ ▲               │ Ended        (CompactBegan/    NeedsLogin  ├────────▶ Idle
//!    │ └───────────────┤               CompactEnded)    BudgetExhausted ┘
//!    │                 └──Ended{park}──────────────────────▲
//!    └── Resume ── Paused{park} ◀── Pause ── any that runs no turn
//!   any ── Stop ──▶ Stopping
//! ```
//! The runner makes every transition: Popped when the broker handed out a message, Ended when its
//! turn was settled, Pause and Resume when the operator said so, ParkOver when the time came or the
//! login changed, Stop on a signal. A pause during a turn takes effect when the turn has ended.

use hive_proto::ids::TurnId;
use hive_proto::v1::{HarnessState, Outcome};

use crate::broker::Says;

/// Why no turn is started although messages may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkKind {
    RateLimited,
    NeedsLogin,
    BudgetExhausted,
}

/// A park: until when, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Park {
    pub kind: ParkKind,
    /// Unix milliseconds; for `NeedsLogin` the next try.
    pub until_ms: i64,
    /// One sentence.
    pub why: String,
}

/// Whether the operator wants turns to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Run,
    Pause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Idle,
    Thinking { turn: TurnId, wish: Wish },
    Compacting { turn: TurnId, wish: Wish },
    Parked(Park),
    Paused { park: Option<Park> },
    Stopping { turn: Option<TurnId> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    Popped(TurnId),
    CompactBegan,
    CompactEnded,
    /// The turn was settled; with the park that its outcome asks for.
    Ended(Option<Park>),
    Pause,
    Resume,
    ParkOver,
    Stop,
}

/// An event that cannot happen in a state: a fault of the runner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{happened:?} cannot happen while {state:?}")]
pub struct Illegal {
    pub state: State,
    pub happened: Happened,
}

// === impl State ===

impl State {
    /// The state after `happened`. Pause and Resume may be said twice.
    ///
    /// # Errors
    /// [`Illegal`] for what cannot happen here.
    pub fn next(self, happened: Happened) -> Result<Self, Illegal> {
        use Happened as H;
        match (self, happened) {
            (Self::Stopping { turn: _ }, H::Ended(_)) => Ok(Self::Stopping { turn: None }),
            (state @ Self::Stopping { .. }, H::Pause | H::Resume | H::Stop | H::ParkOver) => {
                Ok(state)
            }
            (Self::Thinking { turn, .. } | Self::Compacting { turn, .. }, H::Stop) => {
                Ok(Self::Stopping { turn: Some(turn) })
            }
            (Self::Idle | Self::Parked(_) | Self::Paused { .. }, H::Stop) => {
                Ok(Self::Stopping { turn: None })
            }
            (Self::Idle, H::Popped(turn)) => Ok(Self::Thinking {
                turn,
                wish: Wish::Run,
            }),
            (Self::Idle, H::Pause) => Ok(Self::Paused { park: None }),
            (Self::Parked(park), H::Pause) => Ok(Self::Paused { park: Some(park) }),
            (Self::Parked(_), H::ParkOver) => Ok(Self::Idle),
            (Self::Paused { park: Some(park) }, H::Resume) => Ok(Self::Parked(park)),
            (Self::Paused { park: None }, H::Resume) => Ok(Self::Idle),
            (Self::Paused { .. }, H::ParkOver) => Ok(Self::Paused { park: None }),
            (state @ Self::Paused { .. }, H::Pause)
            | (state @ (Self::Idle | Self::Parked(_)), H::Resume) => Ok(state),
            (state, happened) => state.during_turn(happened),
        }
    }

    /// The rest of [`State::next`]: what happens while a turn runs.
    fn during_turn(self, happened: Happened) -> Result<Self, Illegal> {
        use Happened as H;
        match (self, happened) {
            (Self::Thinking { turn, wish }, H::CompactBegan) => Ok(Self::Compacting { turn, wish }),
            (Self::Compacting { turn, wish }, H::CompactEnded) => Ok(Self::Thinking { turn, wish }),
            (Self::Thinking { turn, .. }, H::Pause) => Ok(Self::Thinking {
                turn,
                wish: Wish::Pause,
            }),
            (Self::Thinking { turn, .. }, H::Resume) => Ok(Self::Thinking {
                turn,
                wish: Wish::Run,
            }),
            (Self::Compacting { turn, .. }, H::Pause) => Ok(Self::Compacting {
                turn,
                wish: Wish::Pause,
            }),
            (Self::Compacting { turn, .. }, H::Resume) => Ok(Self::Compacting {
                turn,
                wish: Wish::Run,
            }),
            (Self::Thinking { wish, .. } | Self::Compacting { wish, .. }, H::Ended(park)) => {
                Ok(match (wish, park) {
                    (Wish::Pause, park) => Self::Paused { park },
                    (Wish::Run, Some(park)) => Self::Parked(park),
                    (Wish::Run, None) => Self::Idle,
                })
            }
            (state, happened) => Err(Illegal { state, happened }),
        }
    }

    /// Whether the next message may be asked for.
    #[must_use]
    pub fn may_poll(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The park that runs now, whether or not the operator has paused the agent.
    #[must_use]
    pub fn park(&self) -> Option<&Park> {
        match self {
            Self::Parked(park) | Self::Paused { park: Some(park) } => Some(park),
            Self::Idle
            | Self::Thinking { .. }
            | Self::Compacting { .. }
            | Self::Paused { park: None }
            | Self::Stopping { .. } => None,
        }
    }

    /// What a beat says of it.
    #[must_use]
    pub fn says(&self) -> Says {
        let plain = |state| Says {
            state,
            until_ms: 0,
            detail: String::new(),
        };
        match self {
            Self::Idle => plain(HarnessState::Idle),
            Self::Thinking { .. } => plain(HarnessState::Thinking),
            Self::Compacting { .. } => plain(HarnessState::Compacting),
            Self::Paused { .. } => plain(HarnessState::Paused),
            Self::Stopping { .. } => plain(HarnessState::Stopping),
            Self::Parked(park) => Says {
                state: park.kind.into(),
                until_ms: park.until_ms,
                detail: park.why.clone(),
            },
        }
    }
}

impl From<ParkKind> for HarnessState {
    fn from(kind: ParkKind) -> Self {
        match kind {
            ParkKind::RateLimited => Self::RateLimited,
            ParkKind::NeedsLogin => Self::NeedsLogin,
            ParkKind::BudgetExhausted => Self::BudgetExhausted,
        }
    }
}

/// The kind of park that an outcome asks for.
#[must_use]
pub(super) fn park_kind(outcome: Outcome) -> Option<ParkKind> {
    match outcome {
        Outcome::RateLimited => Some(ParkKind::RateLimited),
        Outcome::AuthFailed => Some(ParkKind::NeedsLogin),
        Outcome::BudgetExhausted => Some(ParkKind::BudgetExhausted),
        Outcome::Unspecified
        | Outcome::Ok
        | Outcome::Compacted
        | Outcome::Cancelled
        | Outcome::Interrupted
        | Outcome::Failed
        | Outcome::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::TurnId;
    use hive_proto::v1::HarnessState;
    use proptest::prelude::*;

    use super::{Happened, Park, ParkKind, State, Wish};

    fn park(kind: ParkKind) -> Park {
        Park {
            kind,
            until_ms: 7,
            why: "because".to_owned(),
        }
    }

    fn run(events: impl IntoIterator<Item = Happened>) -> State {
        events
            .into_iter()
            .fold(State::Idle, |state, event| state.next(event).unwrap())
    }

    #[test]
    fn a_turn_goes_there_and_back() {
        let turn = TurnId(3);
        assert_eq!(
            run([Happened::Popped(turn), Happened::Ended(None)]),
            State::Idle
        );
        let compacting = run([Happened::Popped(turn), Happened::CompactBegan]);
        assert_eq!(compacting.says().state, HarnessState::Compacting);
        assert_eq!(
            compacting.next(Happened::CompactEnded),
            Ok(State::Thinking {
                turn,
                wish: Wish::Run
            })
        );
    }

    #[test]
    fn a_pause_during_a_turn_waits_for_its_end_and_keeps_the_park() {
        let limited = park(ParkKind::RateLimited);
        let state = run([
            Happened::Popped(TurnId(1)),
            Happened::Pause,
            Happened::Ended(Some(limited.clone())),
        ]);
        assert_eq!(state.says().state, HarnessState::Paused);
        assert_eq!(state.park(), Some(&limited));
        let resumed = state.next(Happened::Resume).unwrap();
        assert_eq!(resumed.says().state, HarnessState::RateLimited);
        assert_eq!(resumed.says().until_ms, 7);
        assert_eq!(resumed.next(Happened::ParkOver), Ok(State::Idle));
    }

    #[test]
    fn a_park_that_ends_during_a_pause_leaves_the_pause() {
        let state = run([
            Happened::Popped(TurnId(1)),
            Happened::Ended(Some(park(ParkKind::NeedsLogin))),
            Happened::Pause,
            Happened::ParkOver,
        ]);
        assert_eq!(state, State::Paused { park: None });
    }

    #[test]
    fn nothing_starts_after_stop() {
        let state = run([Happened::Popped(TurnId(1)), Happened::Stop]);
        assert_eq!(
            state,
            State::Stopping {
                turn: Some(TurnId(1))
            }
        );
        let ended = state.next(Happened::Ended(None)).unwrap();
        assert_eq!(ended, State::Stopping { turn: None });
        assert!(ended.next(Happened::Popped(TurnId(2))).is_err());
    }

    fn event() -> impl Strategy<Value = Happened> {
        prop_oneof![
            (1..9_i64).prop_map(|id| Happened::Popped(TurnId(id))),
            Just(Happened::CompactBegan),
            Just(Happened::CompactEnded),
            Just(Happened::Ended(None)),
            Just(Happened::Ended(Some(park(ParkKind::BudgetExhausted)))),
            Just(Happened::Pause),
            Just(Happened::Resume),
            Just(Happened::ParkOver),
            Just(Happened::Stop),
        ]
    }

    proptest! {
        /// Whatever comes, at most one turn runs, and only an idle harness asks for the next.
        #[test]
        fn one_turn_at_a_time(events in prop::collection::vec(event(), 0..60)) {
            let mut state = State::Idle;
            let mut open = false;
            let mut stopped = false;
            for event in events {
                let Ok(next) = state.clone().next(event.clone()) else { continue };
                match event {
                    Happened::Popped(_) => {
                        prop_assert!(!open && !stopped);
                        open = true;
                    }
                    Happened::Ended(_) => open = false,
                    Happened::Stop => stopped = true,
                    _ => {}
                }
                prop_assert!(!(open && next.may_poll()));
                prop_assert!(!(stopped && next.says().state != HarnessState::Stopping));
                state = next;
            }
        }
    }
}
