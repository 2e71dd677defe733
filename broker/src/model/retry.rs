//! When a message that failed is tried again.

use hive_proto::ids::UnixMs;
use hive_proto::limits::BACKOFF_MS;

/// Back-off after the given number of deaths: 5 s, doubling, at most 5 min.
#[must_use]
pub fn backoff_ms(deaths: u32) -> i64 {
    let (first, longest) = BACKOFF_MS;
    let doublings = deaths.saturating_sub(1).min(16);
    (first << doublings).min(longest)
}

/// Whether a message in back-off may be delivered.
///
/// A time further away than the longest back-off was written before the clock was set back: the
/// message is due, for nobody knows how long the clock stays so.
#[must_use]
pub fn is_due(not_before: Option<UnixMs>, now: UnixMs) -> bool {
    match not_before {
        None => true,
        Some(at) => at <= now || at.0.saturating_sub(now.0) > BACKOFF_MS.1,
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{backoff_ms, is_due};

    #[test]
    fn back_off_doubles_up_to_five_minutes() {
        let steps: Vec<_> = (1..=8).map(backoff_ms).collect();
        assert_eq!(
            steps,
            [
                5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000
            ]
        );
        assert_eq!(backoff_ms(0), 5_000);
        assert_eq!(backoff_ms(u32::MAX), 300_000);
    }

    #[test]
    fn a_clock_set_back_holds_nothing_for_longer_than_the_longest_back_off() {
        let now = UnixMs(1_000_000_000);
        assert!(is_due(None, now));
        assert!(is_due(Some(now), now));
        assert!(!is_due(Some(now.plus_ms(1)), now));
        assert!(!is_due(Some(now.plus_ms(300_000)), now));
        assert!(is_due(Some(now.plus_ms(300_001)), now));
        assert!(is_due(Some(UnixMs(i64::MAX)), UnixMs(i64::MIN)));
    }
}
