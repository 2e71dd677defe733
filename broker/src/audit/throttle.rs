//! How much of what is refused is written down: a flood fills neither disk nor memory, and what was
//! left out is counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// The same refusal is written once in this time.
const PAUSE: Duration = Duration::from_secs(60);
/// Rows of one caller at once, and how long until it has another one.
const BURST: u32 = 200;
const REFILL: Duration = Duration::from_secs(60);

/// Decides, by the monotonic clock.
#[derive(Debug)]
pub(super) struct Throttle<C, W> {
    callers: HashMap<C, Caller<W>>,
}

#[derive(Debug)]
struct Caller<W> {
    /// Rows that it has left, and since when.
    tokens: u32,
    filled_at: Duration,
    /// Left out, and of no row that is remembered.
    left_out: u64,
    /// No more than its rows within [`PAUSE`].
    written: HashMap<W, Written>,
}

#[derive(Debug)]
struct Written {
    at: Duration,
    left_out: u64,
}

// === impl Throttle ===

impl<C, W> Default for Throttle<C, W> {
    fn default() -> Self {
        Self {
            callers: HashMap::new(),
        }
    }
}

impl<C: Eq + Hash, W: Eq + Hash> Throttle<C, W> {
    /// Whether this one is to be written; if so, how many before it were left out.
    pub(super) fn take(&mut self, caller: C, what: W, now: Duration) -> Option<u64> {
        let caller = self
            .callers
            .entry(caller)
            .or_insert_with(|| Caller::new(now));
        caller.take(what, now)
    }
}

// === impl Caller ===

impl<W: Eq + Hash> Caller<W> {
    fn new(now: Duration) -> Self {
        Self {
            tokens: BURST,
            filled_at: now,
            left_out: 0,
            written: HashMap::new(),
        }
    }

    fn take(&mut self, what: W, now: Duration) -> Option<u64> {
        if let Some(written) = self.written.get_mut(&what)
            && now.saturating_sub(written.at) < PAUSE
        {
            written.left_out += 1;
            return None;
        }
        self.refill(now);
        if self.tokens == 0 {
            self.left_out += 1;
            return None;
        }
        self.tokens -= 1;
        let of_this = self.written.remove(&what).map_or(0, |old| old.left_out);
        self.forget(now);
        let fresh = Written {
            at: now,
            left_out: 0,
        };
        self.written.insert(what, fresh);
        Some(of_this + std::mem::take(&mut self.left_out))
    }

    fn refill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.filled_at);
        let periods = passed.as_nanos() / REFILL.as_nanos();
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        self.tokens = self.tokens.saturating_add(periods).min(BURST);
        self.filled_at += REFILL.saturating_mul(periods);
    }

    /// Lets go of rows that no longer hold anything back; their count goes on to the next row.
    fn forget(&mut self, now: Duration) {
        let mut passed_on = 0;
        self.written.retain(|_, written| {
            let stays = now.saturating_sub(written.at) < PAUSE;
            if !stays {
                passed_on += written.left_out;
            }
            stays
        });
        self.left_out += passed_on;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BURST, Throttle};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_same_refusal_is_written_once_a_minute_with_what_was_left_out() {
        let mut throttle = Throttle::default();
        assert_eq!(throttle.take("bee", "send", SECOND), Some(0));
        assert_eq!(throttle.take("bee", "send", SECOND * 2), None);
        assert_eq!(throttle.take("bee", "send", SECOND * 60), None);
        assert_eq!(throttle.take("bee", "backup", SECOND * 60), Some(0));
        assert_eq!(throttle.take("wasp", "send", SECOND * 60), Some(0));
        assert_eq!(throttle.take("bee", "send", SECOND * 61), Some(2));
    }

    #[test]
    fn a_flood_of_different_refusals_is_bounded_and_counted() {
        let mut throttle = Throttle::default();
        let written = |throttle: &mut Throttle<&str, u32>, from: u32, now| {
            (from..from + 1_000)
                .filter_map(|what| throttle.take("bee", what, now))
                .count()
        };
        assert_eq!(written(&mut throttle, 0, SECOND), BURST as usize);
        assert_eq!(written(&mut throttle, 5_000, SECOND * 181), 3);
        // Another caller has its own.
        assert_eq!(throttle.take("wasp", 0, SECOND * 181), Some(0));
        // Nothing of what was left out is forgotten.
        let left_out = throttle.take("bee", 9_999, SECOND * 241);
        let written = u64::from(BURST) + 3;
        let told = 800; // by the first row after the flood
        assert_eq!(left_out, Some(2_000 - written - told));
        // Neither does it grow with what it has seen.
        let held = throttle.callers["bee"].written.len();
        assert!(held <= 4, "{held}");
    }
}
