//! Time as an argument: wall time for due times and records, monotonic time for leases and beats.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hive_proto::ids::UnixMs;

/// Where the broker reads the time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

/// A clock that stands still until a test moves it.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Mutex<Hands>>);

#[derive(Clone, Debug)]
enum Source {
    System { start: Instant },
    Manual(ManualClock),
}

#[derive(Debug)]
struct Hands {
    wall: UnixMs,
    monotonic: Duration,
}

// === impl Clock ===

impl Clock {
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System {
            start: Instant::now(),
        })
    }

    /// Wall time; may jump when the host's clock is set.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        match &self.0 {
            Source::System { .. } => {
                let since = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Source::Manual(manual) => manual.hands().wall,
        }
    }

    /// Time since an arbitrary start; never goes back, whatever the wall clock does.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        match &self.0 {
            Source::System { start } => start.elapsed(),
            Source::Manual(manual) => manual.hands().monotonic,
        }
    }
}

// === impl ManualClock ===

impl ManualClock {
    #[must_use]
    pub fn starting_at(wall: UnixMs) -> Self {
        Self(Arc::new(Mutex::new(Hands {
            wall,
            monotonic: Duration::ZERO,
        })))
    }

    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(self.clone()))
    }

    /// Moves both times forward.
    pub fn advance(&self, by: Duration) {
        let mut hands = self.hands();
        hands.monotonic += by;
        hands.wall = hands
            .wall
            .plus_ms(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
    }

    /// Sets the wall time alone, as an administrator or NTP does.
    pub fn set_wall(&self, wall: UnixMs) {
        self.hands().wall = wall;
    }

    fn hands(&self) -> std::sync::MutexGuard<'_, Hands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
