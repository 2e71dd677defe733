//! Which slots are settled now: what fires, what is skipped, and when the next one is.
//!
//! Every expected slot is accounted for. Of several that have passed the newest fires; the others
//! were missed. So long an absence is not written out slot by slot: [`MISSED_ROWS`] rows, then one
//! that says how many more.

use hive_proto::ids::UnixMs;

use super::timing::Timing;
use super::{Misfire, Skip};

/// Missed slots that get a row of their own, the oldest ones.
pub const MISSED_ROWS: usize = 100;
/// Slots that are counted one by one; beyond it the count is a least.
const COUNTED: u64 = 20_000;
/// `misfire = skip` lets nothing fire later than this.
const LATE_MS: i64 = 3_600_000;

/// What is to be settled in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Oldest first.
    pub missed: Vec<Missed>,
    /// The newest slot that has passed.
    pub slot: UnixMs,
    /// Why that one does not fire, either; none: it fires.
    pub skip: Option<Skip>,
    /// The next one; none when the schedule is spent.
    pub next: Option<UnixMs>,
}

/// One slot that passed, or a run of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The (first) slot.
    pub slot: UnixMs,
    /// How many slots it stands for.
    pub slots: u64,
}

/// What is due at `now` of a schedule whose next slot is `next`; none when nothing is.
#[must_use]
pub fn due(timing: &Timing, next: UnixMs, misfire: Misfire, now: UnixMs) -> Option<Due> {
    if next > now {
        return None;
    }
    let passed = passed(timing, next, now);
    let late = now.0.saturating_sub(passed.newest.0) > LATE_MS;
    Some(Due {
        missed: passed.missed,
        slot: passed.newest,
        skip: (misfire == Misfire::Skip && late).then_some(Skip::Late),
        next: timing.after(now),
    })
}

struct Passed {
    missed: Vec<Missed>,
    newest: UnixMs,
}

fn passed(timing: &Timing, next: UnixMs, now: UnixMs) -> Passed {
    match timing {
        Timing::Once { .. } => Passed {
            missed: Vec::new(),
            newest: next,
        },
        Timing::Every { interval_secs, .. } => {
            let step = i64::try_from(*interval_secs)
                .unwrap_or(i64::MAX / 1000)
                .max(1)
                * 1000;
            let more = (now.0 - next.0) / step;
            let slot = |n: i64| next.plus_ms(n.saturating_mul(step));
            counted(u64::try_from(more).unwrap_or(0), slot(more), |n| {
                slot(i64::try_from(n).unwrap_or(i64::MAX))
            })
        }
        Timing::Cron(cron) => match cron.ready() {
            Ok(ready) => {
                let mut slots = vec![next];
                let mut last = next;
                while let Some(slot) = ready.after(last).filter(|slot| *slot <= now) {
                    slots.push(slot);
                    last = slot;
                    if slots.len() as u64 > COUNTED {
                        // Nobody reads a count of this size: only the newest matters.
                        last = ready
                            .at_or_before(now)
                            .filter(|at| *at > last)
                            .unwrap_or(last);
                        break;
                    }
                }
                let more = slots.len() as u64 - u64::from(slots.last() == Some(&last));
                counted(more, last, |n| {
                    usize::try_from(n)
                        .ok()
                        .and_then(|n| slots.get(n))
                        .copied()
                        .unwrap_or(last)
                })
            }
            // A zone that the system no longer knows: this slot is the last one.
            Err(_) => Passed {
                missed: Vec::new(),
                newest: next,
            },
        },
    }
}

/// `more` slots passed before the newest; `slot` gives the n-th.
fn counted(more: u64, newest: UnixMs, slot: impl Fn(u64) -> UnixMs) -> Passed {
    let own = more.min(MISSED_ROWS as u64);
    let mut missed: Vec<Missed> = (0..own)
        .map(|n| Missed {
            slot: slot(n),
            slots: 1,
        })
        .collect();
    if more > own {
        missed.push(Missed {
            slot: slot(own),
            slots: more - own,
        });
    }
    Passed { missed, newest }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use proptest::prelude::*;

    use super::{Due, MISSED_ROWS, Missed, due};
    use crate::model::schedule::{Misfire, Skip, Timing};

    const FIRST: UnixMs = UnixMs(1_796_083_200_000);
    const MIN: i64 = 60_000;

    fn every(secs: u64) -> Timing {
        Timing::Every {
            first: FIRST,
            interval_secs: secs,
        }
    }

    fn one(slot: UnixMs) -> Missed {
        Missed { slot, slots: 1 }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        assert_eq!(
            due(&every(60), FIRST, Misfire::Once, FIRST.plus_ms(-1)),
            None
        );
    }

    #[test]
    fn in_time_one_slot_fires() {
        let now = FIRST.plus_ms(40);
        let expected = Due {
            missed: Vec::new(),
            slot: FIRST,
            skip: None,
            next: Some(FIRST.plus_ms(MIN)),
        };
        assert_eq!(due(&every(60), FIRST, Misfire::Once, now), Some(expected));
    }

    #[test]
    fn of_three_that_passed_the_newest_fires_once() {
        let now = FIRST.plus_ms(2 * MIN + 30_000);
        let due = due(&every(60), FIRST, Misfire::Once, now).unwrap();
        assert_eq!(due.missed, [one(FIRST), one(FIRST.plus_ms(MIN))]);
        assert_eq!((due.slot, due.skip), (FIRST.plus_ms(2 * MIN), None));
        assert_eq!(due.next, Some(FIRST.plus_ms(3 * MIN)));
    }

    #[test]
    fn an_hour_late_is_too_late_for_skip_only() {
        let daily = every(86_400);
        let late = FIRST.plus_ms(60 * MIN + 1);
        assert_eq!(due(&daily, FIRST, Misfire::Once, late).unwrap().skip, None);
        assert_eq!(
            due(&daily, FIRST, Misfire::Skip, late).unwrap().skip,
            Some(Skip::Late)
        );
        let just = FIRST.plus_ms(60 * MIN);
        assert_eq!(due(&daily, FIRST, Misfire::Skip, just).unwrap().skip, None);
    }

    #[test]
    fn a_long_absence_has_few_rows_and_no_slot_is_forgotten() {
        let minutes = 365 * 24 * 60;
        let now = FIRST.plus_ms(minutes * MIN);
        let found = due(&every(60), FIRST, Misfire::Once, now).unwrap();
        assert_eq!(found.missed.len(), MISSED_ROWS + 1);
        let slots: u64 = found.missed.iter().map(|missed| missed.slots).sum();
        assert_eq!(slots, u64::try_from(minutes).unwrap());
        assert_eq!(found.slot, now);
        let cron = Timing::cron("* * * * *", "Europe/Berlin", 60, FIRST).unwrap();
        let found = due(&cron, FIRST, Misfire::Once, now).unwrap();
        assert_eq!(found.missed.len(), MISSED_ROWS + 1);
        assert_eq!((found.slot, found.next), (now, Some(now.plus_ms(MIN))));
        let days = Timing::cron("0 9 * * *", "Europe/Berlin", 60, FIRST).unwrap();
        let first = days.after(FIRST).unwrap();
        let found = due(&days, first, Misfire::Once, first.plus_ms(3 * 1440 * MIN)).unwrap();
        assert_eq!(
            (found.missed.len(), found.slot),
            (3, first.plus_ms(3 * 1440 * MIN))
        );
    }

    #[test]
    fn a_single_slot_fires_late_and_is_spent() {
        let once = Timing::Once { at: FIRST };
        let found = due(&once, FIRST, Misfire::Once, FIRST.plus_ms(90 * MIN)).unwrap();
        assert_eq!((found.slot, found.skip, found.next), (FIRST, None, None));
    }

    proptest! {
        /// However the clock moves, no slot is settled twice and none is left out.
        #[test]
        fn every_slot_is_settled_once(steps in proptest::collection::vec(-90_i64..300, 1..40)) {
            let timing = every(60);
            let (mut now, mut next) = (FIRST, FIRST);
            let mut settled = Vec::new();
            for step in steps {
                now = now.plus_ms(step * 1000);
                if let Some(found) = due(&timing, next, Misfire::Once, now) {
                    settled.extend(found.missed.iter().map(|missed| missed.slot));
                    settled.push(found.slot);
                    next = found.next.unwrap();
                }
            }
            let expected: Vec<_> = (0..settled.len())
                .map(|n| FIRST.plus_ms(i64::try_from(n).unwrap() * MIN))
                .collect();
            prop_assert_eq!(settled, expected);
        }
    }
}
