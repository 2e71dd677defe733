//! When a message that failed is tried again, and when no more.

use hive_proto::ids::UnixMs;
use hive_proto::limits::{BACKOFF_MS, MAX_ATTEMPTS};

/// What a message may use up before it is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Deaths; the next one is the last.
    pub attempts: u32,
    /// Back-off after the first death; doubled for each further one.
    pub first_ms: i64,
    pub longest_ms: i64,
}

// === impl Retry ===

impl Default for Retry {
    /// Five deaths, 5 s to 5 min.
    fn default() -> Self {
        let (first_ms, longest_ms) = BACKOFF_MS;
        Self {
            attempts: MAX_ATTEMPTS,
            first_ms,
            longest_ms,
        }
    }
}

impl Retry {
    /// Back-off after the given number of deaths.
    #[must_use]
    pub fn backoff_ms(&self, deaths: u32) -> i64 {
        let doublings = deaths.saturating_sub(1).min(16);
        self.first_ms
            .saturating_mul(1 << doublings)
            .min(self.longest_ms)
    }

    /// Whether a message in back-off may be delivered.
    ///
    /// A time further away than the longest back-off was written before the clock was set back, or
    /// under another rule: the message is due, for nobody knows how long the clock stays so.
    #[must_use]
    pub fn is_due(&self, not_before: Option<UnixMs>, now: UnixMs) -> bool {
        match not_before {
            None => true,
            Some(at) => at <= now || at.0.saturating_sub(now.0) > self.longest_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::Retry;

    fn steps(retry: Retry) -> Vec<i64> {
        (1..=8).map(|deaths| retry.backoff_ms(deaths)).collect()
    }

    #[test]
    fn back_off_doubles_up_to_the_longest() {
        let usual = Retry::default();
        assert_eq!(
            steps(usual),
            [
                5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000
            ]
        );
        assert_eq!(usual.backoff_ms(0), 5_000);
        assert_eq!(usual.backoff_ms(u32::MAX), 300_000);
        let hasty = Retry {
            first_ms: 1_000,
            longest_ms: 3_000,
            ..usual
        };
        assert_eq!(
            steps(hasty),
            [1_000, 2_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000]
        );
    }

    #[test]
    fn a_clock_set_back_holds_nothing_for_longer_than_the_longest_back_off() {
        let now = UnixMs(1_000_000_000);
        for longest_ms in [1_000, 300_000] {
            let retry = Retry {
                longest_ms,
                ..Retry::default()
            };
            assert!(retry.is_due(None, now));
            assert!(retry.is_due(Some(now), now));
            assert!(!retry.is_due(Some(now.plus_ms(1)), now));
            assert!(!retry.is_due(Some(now.plus_ms(longest_ms)), now));
            assert!(retry.is_due(Some(now.plus_ms(longest_ms + 1)), now));
            assert!(retry.is_due(Some(UnixMs(i64::MAX)), UnixMs(i64::MIN)));
        }
    }
}
