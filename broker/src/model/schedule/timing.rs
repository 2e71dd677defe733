//! Timetables: a moment, an interval, or a cron pattern.

use hive_proto::ids::UnixMs;

use super::cron::{Cron, CronFault};

/// When a schedule fires. Slots lie on whole seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    Once {
        at: UnixMs,
    },
    /// `first`, and every so many seconds after it, whatever local clocks do.
    Every {
        first: UnixMs,
        interval_secs: u64,
    },
    Cron(Cron),
}

/// Why a timetable is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingFault {
    #[error(transparent)]
    Cron(#[from] CronFault),
    #[error("an interval of {secs} s is too short, the least is {least} s")]
    TooShort { secs: u64, least: u64 },
    #[error("an interval of {0} s is too long, the most is ten years")]
    TooLong(u64),
    #[error("no time, interval or cron pattern is given")]
    Nothing,
    #[error("a cron pattern says its times itself: give no interval and no first time beside it")]
    Both,
    #[error("a time zone belongs to a cron pattern")]
    ZoneAlone,
    #[error("{0:?} is no interval such as @every 90m")]
    Every(String),
    #[error("the time {0} is in the past")]
    Past(String),
    #[error("the time is more than ten years away")]
    Far,
}

const YEARS_MS: i64 = 10 * 366 * 24 * 3_600_000;
const YEARS_SECS: u64 = 10 * 366 * 24 * 3_600;

// === impl Timing ===

impl Timing {
    /// One slot.
    ///
    /// # Errors
    /// When it lies behind, or more than ten years ahead.
    pub fn once(at: UnixMs, now: UnixMs) -> Result<Self, TimingFault> {
        Ok(Self::Once {
            at: moment(at, now)?,
        })
    }

    /// Slots of one interval; without a `first` it is one interval from now.
    ///
    /// # Errors
    /// When the interval is out of bounds or the first slot lies behind.
    pub fn every(
        secs: u64,
        first: Option<UnixMs>,
        least: u64,
        now: UnixMs,
    ) -> Result<Self, TimingFault> {
        if secs < least {
            return Err(TimingFault::TooShort { secs, least });
        }
        if secs > YEARS_SECS {
            return Err(TimingFault::TooLong(secs));
        }
        let first = match first {
            Some(first) => moment(first, now)?,
            // Rounded up, so that the slot is never behind.
            None => whole(now.plus_ms(ms(secs)).plus_ms(999)),
        };
        Ok(Self::Every {
            first,
            interval_secs: secs,
        })
    }

    /// A cron pattern, or `@every 90m`.
    ///
    /// # Errors
    /// When it is none.
    pub fn cron(pattern: &str, zone: &str, least: u64, now: UnixMs) -> Result<Self, TimingFault> {
        let Some(span) = pattern.trim().strip_prefix("@every") else {
            return Ok(Self::Cron(Cron::new(pattern, zone, now)?));
        };
        if !zone.trim().is_empty() {
            return Err(TimingFault::ZoneAlone);
        }
        let secs = span_secs(span.trim()).ok_or_else(|| TimingFault::Every(pattern.to_owned()))?;
        Self::every(secs, None, least, now)
    }

    /// The first slot after `after`; none when there is none any more.
    #[must_use]
    pub fn after(&self, after: UnixMs) -> Option<UnixMs> {
        match self {
            Self::Once { at } => (*at > after).then_some(*at),
            Self::Every {
                first,
                interval_secs,
            } => Some(grid_after(*first, *interval_secs, after)),
            Self::Cron(cron) => cron.ready().ok()?.after(after),
        }
    }

    /// The first slot of a schedule that begins now: a single one also when it is behind by now.
    #[must_use]
    pub fn begin(&self, now: UnixMs) -> Option<UnixMs> {
        match self {
            Self::Once { at } => Some(*at),
            Self::Every { .. } | Self::Cron(_) => self.after(now.plus_ms(-1)),
        }
    }
}

/// Whole seconds, not behind by more than a minute (a clock's own error), not ten years ahead.
fn moment(at: UnixMs, now: UnixMs) -> Result<UnixMs, TimingFault> {
    const GRACE_MS: i64 = 60_000;
    if at.0 < now.0.saturating_sub(GRACE_MS) {
        return Err(TimingFault::Past(at.rfc3339()));
    }
    if at.0 > now.0.saturating_add(YEARS_MS) {
        return Err(TimingFault::Far);
    }
    Ok(whole(at))
}

fn whole(at: UnixMs) -> UnixMs {
    UnixMs(at.0.div_euclid(1000) * 1000)
}

fn ms(secs: u64) -> i64 {
    i64::try_from(secs).unwrap_or(i64::MAX).saturating_mul(1000)
}

fn grid_after(first: UnixMs, secs: u64, after: UnixMs) -> UnixMs {
    if after < first {
        return first;
    }
    let step = ms(secs).max(1000);
    let passed = (after.0 - first.0) / step;
    first.plus_ms((passed + 1).saturating_mul(step))
}

/// `90m`, `1h30m`, `2d`, or bare seconds.
fn span_secs(text: &str) -> Option<u64> {
    if let Ok(secs) = text.parse::<u64>() {
        return Some(secs);
    }
    let (mut total, mut number) = (0_u64, String::new());
    for c in text.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        let count: u64 = number.parse().ok()?;
        total = total.checked_add(count.checked_mul(unit)?)?;
        number.clear();
    }
    (number.is_empty() && total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use proptest::prelude::*;

    use super::{Timing, TimingFault, span_secs};

    const NOW: UnixMs = UnixMs(1_796_083_200_123);

    #[test]
    fn intervals_stay_on_their_grid() {
        let first = UnixMs(1_796_083_260_000);
        let every = Timing::every(90, Some(first), 60, NOW).unwrap();
        assert_eq!(every.begin(NOW), Some(first));
        assert_eq!(every.after(first), Some(first.plus_ms(90_000)));
        assert_eq!(
            every.after(first.plus_ms(89_999)),
            Some(first.plus_ms(90_000))
        );
        assert_eq!(
            every.after(first.plus_ms(900_001)),
            Some(first.plus_ms(990_000))
        );
    }

    #[test]
    fn one_interval_from_now_is_never_too_soon() {
        let every = Timing::every(60, None, 60, NOW).unwrap();
        assert_eq!(every.begin(NOW), Some(UnixMs(1_796_083_261_000)));
    }

    #[test]
    fn bounds_are_kept() {
        let short = Timing::every(59, None, 60, NOW);
        assert_eq!(
            short,
            Err(TimingFault::TooShort {
                secs: 59,
                least: 60
            })
        );
        assert!(matches!(
            Timing::every(u64::MAX, None, 60, NOW),
            Err(TimingFault::TooLong(_))
        ));
        assert!(matches!(
            Timing::once(NOW.plus_ms(-61_000), NOW),
            Err(TimingFault::Past(_))
        ));
        assert!(matches!(
            Timing::once(UnixMs(i64::MAX), NOW),
            Err(TimingFault::Far)
        ));
        assert!(matches!(
            Timing::once(UnixMs(i64::MIN), NOW),
            Err(TimingFault::Past(_))
        ));
        assert!(Timing::once(NOW, NOW).is_ok());
    }

    #[test]
    fn every_is_an_interval() {
        let every = Timing::cron("@every 1h30m", "", 60, NOW).unwrap();
        assert!(matches!(
            every,
            Timing::Every {
                interval_secs: 5_400,
                ..
            }
        ));
        assert_eq!(
            Timing::cron("@every 1h", "Europe/Berlin", 60, NOW),
            Err(TimingFault::ZoneAlone)
        );
        for (text, secs) in [
            ("90m", Some(5_400)),
            ("2d", Some(172_800)),
            ("45", Some(45)),
            ("1h1", None),
            ("", None),
            ("h", None),
            ("-1h", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(span_secs(text), secs, "{text:?}");
        }
    }

    #[test]
    fn a_single_slot_is_behind_its_own_time() {
        let once = Timing::once(NOW.plus_ms(5_000), NOW).unwrap();
        let at = UnixMs(1_796_083_205_000);
        assert_eq!(once.begin(NOW.plus_ms(90_000)), Some(at));
        assert_eq!(once.after(at), None);
    }

    proptest! {
        /// The next slot is after, on the grid, and the nearest.
        #[test]
        fn the_next_slot_is_the_nearest(secs in 60_u64..1_000_000, passed in 0_i64..10_000_000_000) {
            let first = UnixMs(1_796_083_260_000);
            let every = Timing::Every { first, interval_secs: secs };
            let after = first.plus_ms(passed);
            let next = every.after(after).unwrap();
            let step = i64::try_from(secs).unwrap() * 1000;
            prop_assert!(next > after && next.0 - after.0 <= step);
            prop_assert_eq!((next.0 - first.0) % step, 0);
        }
    }
}
