//! How long to wait between two tries to reach the broker.

use std::time::Duration;

/// First and longest wait. The longest is what a restart of the broker may add to an answer.
const FIRST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// Doubles up to a second; each wait is jittered so that a hundred harnesses do not come at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    tries: u32,
}

// === impl Backoff ===

impl Backoff {
    /// The wait before the next try.
    pub fn wait(&mut self) -> Duration {
        let full = FIRST.saturating_mul(1 << self.tries.min(10)).min(LONGEST);
        self.tries = self.tries.saturating_add(1);
        jitter(full, uuid::Uuid::new_v4().as_bytes()[0])
    }

    /// Forgets the failures so far.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}

/// Between a half and all of `full`, by one random byte.
fn jitter(full: Duration, random: u8) -> Duration {
    full / 2 + full / 2 * u32::from(random) / u32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Backoff, FIRST, LONGEST, jitter};

    #[test]
    fn it_grows_to_a_second_and_stays() {
        let mut backoff = Backoff::default();
        assert!(backoff.wait() <= FIRST);
        for _ in 0..100 {
            assert!(backoff.wait() <= LONGEST);
        }
        assert!(backoff.wait() >= LONGEST / 2);
        backoff.reset();
        assert!(backoff.wait() <= FIRST);
    }

    #[test]
    fn jitter_stays_between_half_and_all() {
        assert_eq!(jitter(LONGEST, 0), LONGEST / 2);
        assert_eq!(jitter(LONGEST, u8::MAX), LONGEST);
    }
}
