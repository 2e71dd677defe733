//! How much room is left: one word for it, which does not flutter.

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    /// The operator should make room.
    Low,
    /// Soon nothing can be stored.
    Full,
}

/// Below these the level is low, and full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub low_bytes: u64,
    pub full_bytes: u64,
}

// === impl Level ===

impl Level {
    /// The word that is stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Low => "low",
            Self::Full => "full",
        }
    }

    /// The one of that word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Ok, Self::Low, Self::Full]
            .into_iter()
            .find(|level| level.word() == word)
    }
}

/// The level at so many free bytes. A better one than before takes a tenth more than its threshold.
#[must_use]
pub fn level(free: u64, thresholds: Thresholds, before: Level) -> Level {
    let now = plain(free, thresholds);
    if now >= before {
        return now;
    }
    let more = |bytes: u64| bytes.saturating_add(bytes / 10);
    let strict = Thresholds {
        low_bytes: more(thresholds.low_bytes),
        full_bytes: more(thresholds.full_bytes),
    };
    plain(free, strict).min(before)
}

fn plain(free: u64, thresholds: Thresholds) -> Level {
    if free < thresholds.full_bytes {
        Level::Full
    } else if free < thresholds.low_bytes {
        Level::Low
    } else {
        Level::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Thresholds, level};

    const AT: Thresholds = Thresholds {
        low_bytes: 1000,
        full_bytes: 100,
    };

    #[test]
    fn it_gets_worse_at_once_and_better_with_room_to_spare() {
        use Level::{Full, Low, Ok};
        for (free, before, after) in [
            (5000, Ok, Ok),
            (999, Ok, Low),
            (99, Ok, Full),
            (99, Low, Full),
            (100, Full, Full),
            (110, Full, Low),
            (1000, Low, Low),
            (1099, Low, Low),
            (1100, Low, Ok),
            (5000, Full, Ok),
            (500, Low, Low),
        ] {
            assert_eq!(level(free, AT, before), after, "{free} after {before:?}");
        }
    }
}
