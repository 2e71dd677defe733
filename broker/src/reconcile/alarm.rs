//! When a reconciler of due times looks again: at the next due time, and now and then regardless,
//! because the wall clock may be set while it waits.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hive_proto::ids::UnixMs;

use crate::clock::Clock;

/// The longest wait: what a clock that was set forward can cost.
const LONGEST: Duration = Duration::from_secs(15);
/// A due time that could not be served is not asked for again at once.
const SHORTEST: Duration = Duration::from_millis(50);

/// The next due time as the last run saw it.
#[derive(Debug)]
pub(super) struct Alarm {
    clock: Clock,
    next: Mutex<Option<UnixMs>>,
}

// === impl Alarm ===

impl Alarm {
    pub(super) fn new(clock: Clock) -> Self {
        let next = Mutex::new(None);
        Self { clock, next }
    }

    pub(super) fn set(&self, next: Option<UnixMs>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    pub(super) fn period(&self) -> Duration {
        let next = *self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.map_or(LONGEST, |at| until(at, self.clock.now()))
    }
}

fn until(at: UnixMs, now: UnixMs) -> Duration {
    let ms = at.0.saturating_sub(now.0);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::ids::UnixMs;

    use super::{LONGEST, SHORTEST, until};

    #[test]
    fn it_never_spins_and_never_oversleeps() {
        let at = |ms| until(UnixMs(ms), UnixMs(1_000_000));
        assert_eq!(at(1_000_700), Duration::from_millis(700));
        assert_eq!(at(1_000_000), SHORTEST);
        assert_eq!(at(i64::MIN), SHORTEST);
        assert_eq!(at(i64::MAX), LONGEST);
    }
}
