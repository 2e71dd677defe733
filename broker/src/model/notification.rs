//! The life of one notification on one channel.
//!
//! ```text
//!   Pending ──Begun──▶ Pending, one try more ──Delivered──▶ Sent
//!      ▲                   │        │
//!      │       Failed      │        └─Failed for good, or too often──▶ Dead
//!      ├───────────────────┘                                            │
//!      └────────────────────────── Retried ─────────────────────────────┘
//! ```
//!
//! A try is counted when it begins, and the next one is set down with it: a broker that is killed
//! while it tells somebody tells them again after the pause, never in a circle.

use hive_proto::ids::UnixMs;

/// From the first try to the last.
pub const LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;
/// Tries of one notification, unless the channel says otherwise.
pub const TRIES: u32 = 10;
/// The pause after the first try, unless the channel says otherwise.
pub const FIRST_PAUSE_MS: i64 = 5_000;
/// The longest pause, whatever the receiver asks for.
pub const LONGEST_PAUSE_MS: i64 = 8 * 60 * 60 * 1000;

/// How patient a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub tries: u32,
    pub first_pause_ms: i64,
}

/// Where a notification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending { tries: u32, next_at: UnixMs },
    Sent,
    Dead,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A try begins.
    Begun {
        now: UnixMs,
    },
    Delivered,
    Failed {
        now: UnixMs,
        /// When its first try began.
        since: UnixMs,
        verdict: Verdict,
    },
    /// The operator gives it all its tries again.
    Retried {
        now: UnixMs,
    },
}

/// What a failed try means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Worth another try; not before this time, if the receiver named one.
    Again { not_before: Option<UnixMs> },
    /// No further try would end otherwise.
    Final,
}

/// That cannot happen to a notification in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} does not happen to a notification that is {from:?}")]
pub struct Illegal {
    pub from: State,
    pub event: Event,
}

/// What follows. `seed` spreads the pauses: the same one gives the same pauses.
///
/// # Errors
/// When the event cannot happen in this state.
pub fn next(from: State, event: Event, patience: Patience, seed: u64) -> Result<State, Illegal> {
    match (from, event) {
        (State::Pending { tries, .. }, Event::Begun { now }) => {
            // One that has used them all up did not end its last try: the broker died in it.
            if tries >= patience.tries {
                return Ok(State::Dead);
            }
            let tries = tries + 1;
            let next_at = now.plus_ms(pause_ms(patience, tries, seed));
            Ok(State::Pending { tries, next_at })
        }
        (State::Pending { tries: 1.., .. }, Event::Delivered) => Ok(State::Sent),
        (
            State::Pending {
                tries: tries @ 1.., ..
            },
            Event::Failed {
                now,
                since,
                verdict,
            },
        ) => Ok(failed(tries, now, since, verdict, patience, seed)),
        (State::Dead, Event::Retried { now }) => Ok(State::Pending {
            tries: 0,
            next_at: now,
        }),
        (
            State::Pending { .. },
            Event::Delivered | Event::Failed { .. } | Event::Retried { .. },
        )
        | (
            State::Sent,
            Event::Begun { .. } | Event::Delivered | Event::Failed { .. } | Event::Retried { .. },
        )
        | (State::Dead, Event::Begun { .. } | Event::Delivered | Event::Failed { .. }) => {
            Err(Illegal { from, event })
        }
    }
}

fn failed(
    tries: u32,
    now: UnixMs,
    since: UnixMs,
    verdict: Verdict,
    patience: Patience,
    seed: u64,
) -> State {
    let not_before = match verdict {
        Verdict::Final => return State::Dead,
        Verdict::Again { not_before } => not_before,
    };
    let own = now.plus_ms(pause_ms(patience, tries, seed));
    let asked = not_before.map_or(own, |at| at.min(now.plus_ms(LONGEST_PAUSE_MS)));
    let next_at = own.max(asked);
    if tries >= patience.tries || next_at > since.plus_ms(LIFETIME_MS) {
        return State::Dead;
    }
    State::Pending { tries, next_at }
}

/// The pause after the given number of tries: three times the one before, and up to a fifth more or
/// less, so that the notifications of one broken receiver do not come back all at once.
#[must_use]
pub fn pause_ms(patience: Patience, tries: u32, seed: u64) -> i64 {
    let steps = tries.saturating_sub(1).min(20);
    let plain = patience
        .first_pause_ms
        .saturating_mul(3_i64.saturating_pow(steps))
        .min(LONGEST_PAUSE_MS);
    let thousandths = spread(seed.wrapping_add(tries.into())) % 401;
    let thousandths = i64::try_from(thousandths).unwrap_or(200) - 200;
    plain + plain / 1000 * thousandths
}

/// Whether a time that was set down has come. One further away than the longest pause was written
/// before the clock was set back.
#[must_use]
pub fn is_due(at: UnixMs, now: UnixMs) -> bool {
    at <= now || at.0.saturating_sub(now.0) > LONGEST_PAUSE_MS / 5 * 6
}

/// A number that looks like nothing to do with the one before (splitmix64's mixing step).
fn spread(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use proptest::prelude::*;

    use super::{
        Event, FIRST_PAUSE_MS, LIFETIME_MS, LONGEST_PAUSE_MS, Patience, State, TRIES, Verdict,
        is_due, next, pause_ms,
    };

    const PATIENT: Patience = Patience {
        tries: TRIES,
        first_pause_ms: FIRST_PAUSE_MS,
    };
    const NOW: UnixMs = UnixMs(1_000_000_000_000);
    const NEW: State = State::Pending {
        tries: 0,
        next_at: NOW,
    };

    fn again(now: UnixMs) -> Event {
        Event::Failed {
            now,
            since: NOW,
            verdict: Verdict::Again { not_before: None },
        }
    }

    /// Fails until it is dead; the times of its tries.
    fn tries(seed: u64) -> Vec<UnixMs> {
        let (mut state, mut now, mut times) = (NEW, NOW, Vec::new());
        while let State::Pending { next_at, .. } = state {
            now = now.max(next_at);
            times.push(now);
            state = next(state, Event::Begun { now }, PATIENT, seed).unwrap();
            state = next(state, again(now), PATIENT, seed).unwrap();
        }
        assert_eq!(state, State::Dead);
        times
    }

    proptest! {
        #[test]
        fn dl17_pauses_grow_are_spread_and_end_within_a_day(seed in any::<u64>()) {
            let times = tries(seed);
            prop_assert_eq!(times.len(), usize::try_from(TRIES).unwrap());
            let pauses: Vec<i64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            for (at, pause) in pauses.iter().enumerate() {
                let plain = (FIRST_PAUSE_MS * 3_i64.pow(u32::try_from(at).unwrap())).min(LONGEST_PAUSE_MS);
                prop_assert!((plain * 8 / 10 - 10..=plain * 12 / 10).contains(pause), "{}: {}", at, pause);
            }
            prop_assert!(times[times.len() - 1].0 - NOW.0 < LIFETIME_MS);
        }
    }

    #[test]
    fn a_receiver_that_names_a_time_is_left_alone_until_then_within_reason() {
        let begun = State::Pending {
            tries: 1,
            next_at: NOW,
        };
        let fails = |not_before| {
            let event = Event::Failed {
                now: NOW,
                since: NOW,
                verdict: Verdict::Again { not_before },
            };
            next(begun, event, PATIENT, 7).unwrap()
        };
        let own = pause_ms(PATIENT, 1, 7);
        let at = |ms| State::Pending {
            tries: 1,
            next_at: NOW.plus_ms(ms),
        };
        assert_eq!(fails(None), at(own));
        assert_eq!(fails(Some(NOW.plus_ms(60_000))), at(60_000));
        assert_eq!(fails(Some(NOW.plus_ms(-60_000))), at(own));
        assert_eq!(fails(Some(UnixMs(i64::MAX))), at(LONGEST_PAUSE_MS));
    }

    #[test]
    fn what_is_final_dies_at_once_and_only_the_dead_are_retried() {
        let begun = next(NEW, Event::Begun { now: NOW }, PATIENT, 1).unwrap();
        let refused = Event::Failed {
            now: NOW,
            since: NOW,
            verdict: Verdict::Final,
        };
        assert_eq!(next(begun, refused, PATIENT, 1), Ok(State::Dead));
        let retried = Event::Retried { now: NOW };
        assert_eq!(next(State::Dead, retried, PATIENT, 1), Ok(NEW));
        for (state, event) in [
            (NEW, Event::Delivered),
            (NEW, refused),
            (begun, retried),
            (State::Sent, retried),
            (State::Sent, Event::Begun { now: NOW }),
            (State::Dead, Event::Begun { now: NOW }),
        ] {
            assert!(
                next(state, event, PATIENT, 1).is_err(),
                "{state:?} {event:?}"
            );
        }
    }

    #[test]
    fn a_last_try_that_never_ended_is_not_followed_by_another() {
        let last = State::Pending {
            tries: TRIES,
            next_at: NOW,
        };
        let begun = next(last, Event::Begun { now: NOW }, PATIENT, 1);
        assert_eq!(begun, Ok(State::Dead));
    }

    #[test]
    fn a_clock_set_back_holds_nothing_for_ever() {
        assert!(is_due(NOW, NOW));
        assert!(!is_due(NOW.plus_ms(1), NOW));
        assert!(!is_due(NOW.plus_ms(LONGEST_PAUSE_MS), NOW));
        assert!(is_due(NOW.plus_ms(LONGEST_PAUSE_MS * 2), NOW));
    }
}
