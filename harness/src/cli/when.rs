//! Times and sizes for people, and durations that people type.

use std::time::Duration;

use hive_proto::ids::UnixMs;

/// RFC 3339 in UTC, for JSON; `None` for "not yet".
#[must_use]
pub(super) fn json(ms: i64) -> Option<String> {
    Some(UnixMs(ms).rfc3339()).filter(|text| !text.is_empty())
}

/// To the second, in UTC; empty for "not yet".
#[must_use]
pub(super) fn utc(ms: i64) -> String {
    let text = UnixMs(ms).rfc3339();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{}Z", seconds.replace('T', " ")),
        None => text,
    }
}

/// The time of day when it is within half a day of now, else date and time; empty for "not yet".
#[must_use]
pub(super) fn near(ms: i64, now_ms: i64) -> String {
    let text = utc(ms);
    match text.split_once(' ') {
        Some((_, time)) if (ms - now_ms).abs() < 12 * 3_600_000 => time.to_owned(),
        _ => text,
    }
}

/// Now, as the wire says it.
#[must_use]
pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// How long ago: `4s`, `12m`, `3h`, `2d`; empty for "not yet".
#[must_use]
pub(super) fn since(ms: i64, now_ms: i64) -> String {
    if ms == 0 {
        return String::new();
    }
    let passed = u64::try_from(now_ms.saturating_sub(ms)).unwrap_or(0);
    span(Duration::from_millis(passed))
}

/// A duration in its largest unit.
#[must_use]
pub(super) fn span(duration: Duration) -> String {
    match duration.as_secs() {
        secs @ 0..120 => format!("{secs}s"),
        secs @ 120..7_200 => format!("{}m", secs / 60),
        secs @ 7_200..172_800 => format!("{}h", secs / 3_600),
        secs => format!("{}d", secs / 86_400),
    }
}

/// Bytes in binary units.
#[must_use]
pub(super) fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return match unit {
                "B" => format!("{bytes} B"),
                _ => format!("{value:.1} {unit}"),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Parses `30s`, `10m`, `2h`, or a bare number of seconds.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, factor) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3_600),
        _ => (text, 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("{text:?} is not a duration such as 30s, 10m or 2h"))?;
    // Some hundred years: beyond this a deadline cannot be told from none.
    Ok(Duration::from_secs(
        number.saturating_mul(factor).min(10_000_000_000),
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{bytes, json, near, parse_duration, since, span, utc};

    #[test]
    fn times_for_people_and_for_scripts() {
        let ms = 1_700_000_000_123;
        assert_eq!(utc(ms), "2023-11-14 22:13:20Z");
        assert_eq!(json(ms).as_deref(), Some("2023-11-14T22:13:20.123Z"));
        assert_eq!(near(ms, ms - 60_000), "22:13:20Z");
        assert_eq!(near(ms, ms - 86_400_000), "2023-11-14 22:13:20Z");
        assert_eq!((utc(0), json(0)), (String::new(), None));
        assert_eq!(since(ms, ms + 61_000), "61s");
        assert_eq!(since(ms, ms - 5_000), "0s");
        assert_eq!(since(0, ms), "");
    }

    #[test]
    fn spans_use_their_largest_unit() {
        let spans = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_200, "2h"),
            (172_800, "2d"),
        ];
        for (secs, text) in spans {
            assert_eq!(span(Duration::from_secs(secs)), text);
        }
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
    }

    #[test]
    fn durations_are_parsed_strictly() {
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7_200)));
        for bad in ["", "m", "-1s", "1.5h", "10 m", "1d", "é"] {
            assert!(parse_duration(bad).is_err(), "{bad:?} was taken");
        }
    }
}
