//! Times, choices and timetables of the schedule commands.

use hive_proto::v1::{Misfire, Overlap, Timing};

use super::super::when;

/// What becomes of times that passed while nothing could run.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum MisfireArg {
    /// The newest fires late
    Once,
    /// The same, unless it is more than an hour late
    Skip,
}

/// What happens while the last message is not finished.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum OverlapArg {
    /// The next one queues behind it
    Queue,
    /// The next one is skipped
    Skip,
}

impl From<MisfireArg> for Misfire {
    fn from(arg: MisfireArg) -> Self {
        match arg {
            MisfireArg::Once => Self::Once,
            MisfireArg::Skip => Self::Skip,
        }
    }
}

impl From<OverlapArg> for Overlap {
    fn from(arg: OverlapArg) -> Self {
        match arg {
            OverlapArg::Queue => Self::Queue,
            OverlapArg::Skip => Self::Skip,
        }
    }
}

/// Reads Unix seconds or RFC 3339 with an offset.
pub(super) fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(secs) = text.parse::<i64>() {
        return Ok(secs.saturating_mul(1000));
    }
    text.parse::<jiff::Timestamp>()
        .map(|at| at.as_millisecond())
        .map_err(|_| {
            format!(
                "{text:?} is neither RFC 3339 with an offset, such as 2026-12-01T09:00:00+01:00, \
                 nor Unix seconds"
            )
        })
}

/// Reads `30s`, `90m`, `2h`, `7d` or bare seconds.
pub(super) fn parse_interval(text: &str) -> Result<u64, String> {
    let secs = match text.strip_suffix('d') {
        Some(days) => days
            .parse::<u64>()
            .ok()
            .and_then(|days| days.checked_mul(86_400)),
        None => when::parse_duration(text).ok().map(|span| span.as_secs()),
    };
    secs.ok_or_else(|| format!("{text:?} is no interval such as 90m, 2h or 7d"))
}

/// A timetable in a few words.
pub(super) fn words(timing: &Timing) -> String {
    match (timing.interval_secs, timing.cron.as_str()) {
        (0, "") => "once".to_owned(),
        (0, cron) => format!("{cron} {}", timing.tz),
        (secs, _) => format!("every {}", span(secs)),
    }
}

fn span(secs: u64) -> String {
    for (unit, size) in [("d", 86_400), ("h", 3_600), ("m", 60)] {
        if secs >= size && secs.is_multiple_of(size) {
            return format!("{}{unit}", secs / size);
        }
    }
    format!("{secs}s")
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::Timing;

    use super::{parse_interval, parse_time, words};

    #[test]
    fn times_and_intervals_are_read_strictly() {
        for text in [
            "1796083200",
            "2026-12-01T00:00:00Z",
            "2026-12-01T01:00:00+01:00",
        ] {
            assert_eq!(parse_time(text), Ok(1_796_083_200_000), "{text}");
        }
        for text in ["", "now", "2026-12-01", "2026-12-01 09:00"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert_eq!(parse_interval("90m"), Ok(5_400));
        assert_eq!(parse_interval("7d"), Ok(604_800));
        assert!(parse_interval("d").is_err() && parse_interval("1w").is_err());
    }

    #[test]
    fn a_timetable_is_a_few_words() {
        let every = |interval_secs| Timing {
            interval_secs,
            ..Timing::default()
        };
        assert_eq!(words(&every(0)), "once");
        assert_eq!(words(&every(5_400)), "every 90m");
        assert_eq!(words(&every(86_400)), "every 1d");
        assert_eq!(words(&every(61)), "every 61s");
    }
}
