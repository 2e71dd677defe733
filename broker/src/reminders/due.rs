//! What a model may write for a time: RFC 3339, Unix seconds, or a span from now.

use hive_proto::ids::UnixMs;
use jiff::{Span, SpanRelativeTo, Timestamp};

use super::error::ReminderError;

/// A time that is past by no more than this is taken: the call itself took its time, or was retried
/// while the broker was away.
const GRACE_MS: i64 = 5 * 60 * 1000;
/// Further away than any plan: what lies behind it was a mistake in the unit.
const FURTHEST_MS: i64 = 5 * 366 * 24 * 60 * 60 * 1000;

/// When that is.
pub(super) fn parse(text: &str, now: UnixMs) -> Result<UnixMs, ReminderError> {
    let text = text.trim();
    let due = unix_seconds(text)
        .or_else(|| rfc3339(text))
        .or_else(|| span(text, now))
        .ok_or_else(|| ReminderError::NoTime {
            given: text.chars().take(80).collect(),
        })?;
    let far = due.0.saturating_sub(now.0);
    if far < -GRACE_MS {
        return Err(ReminderError::Past {
            due: due.rfc3339(),
            now: now.rfc3339(),
        });
    }
    if far > FURTHEST_MS {
        let due = text.chars().take(80).collect();
        return Err(ReminderError::TooFar { due });
    }
    Ok(due)
}

fn unix_seconds(text: &str) -> Option<UnixMs> {
    let seconds: i64 = text.parse().ok()?;
    Some(UnixMs(seconds.saturating_mul(1000)))
}

fn rfc3339(text: &str) -> Option<UnixMs> {
    let time: Timestamp = text.parse().ok()?;
    Some(UnixMs(time.as_millisecond()))
}

/// `in 10m`, `1h30m`, `2 days`. Days have 24 hours here, weeks seven of them; months and years have no
/// length and are refused.
fn span(text: &str, now: UnixMs) -> Option<UnixMs> {
    let text = text
        .strip_prefix("in ")
        .or_else(|| text.strip_prefix("In "))
        .unwrap_or(text)
        .trim();
    let span: Span = text.parse().ok()?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    let ms = i64::try_from(length.as_millis()).ok()?;
    Some(now.plus_ms(ms))
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::parse;
    use crate::reminders::ReminderError;

    /// 2026-12-01T00:00:00Z.
    const NOW: UnixMs = UnixMs(1_796_083_200_000);

    fn after(text: &str) -> Result<i64, ReminderError> {
        parse(text, NOW).map(|due| due.0 - NOW.0)
    }

    #[test]
    fn spans_times_and_seconds() {
        const MINUTE: i64 = 60_000;
        for (text, ms) in [
            ("in 10m", 10 * MINUTE),
            ("10m", 10 * MINUTE),
            ("1h30m", 90 * MINUTE),
            ("In 2 hours", 120 * MINUTE),
            ("90s", 90_000),
            ("in 2 days", 2 * 24 * 60 * MINUTE),
            ("1w", 7 * 24 * 60 * MINUTE),
            ("PT15M", 15 * MINUTE),
            ("0s", 0),
            ("2026-12-01T00:10:00Z", 10 * MINUTE),
            ("2026-12-01T01:10:00+01:00", 10 * MINUTE),
            ("1796083260", MINUTE),
            (" in 5m ", 5 * MINUTE),
            // Late by the time that a call may be retried.
            ("2026-11-30T23:59:00Z", -MINUTE),
        ] {
            assert_eq!(after(text).unwrap(), ms, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_reason() {
        for text in [
            "",
            "soon",
            "tomorrow",
            "in",
            "10",
            "1 month",
            "2026-13-01T00:00:00Z",
            "12:30",
        ] {
            let refused = after(text).unwrap_err();
            assert!(
                matches!(
                    refused,
                    ReminderError::NoTime { .. } | ReminderError::Past { .. }
                ),
                "{text}: {refused}"
            );
        }
        let past = after("2026-11-30T12:00:00Z").unwrap_err().to_string();
        assert_eq!(
            past,
            "2026-11-30T12:00:00.000Z is past: it is 2026-12-01T00:00:00.000Z"
        );
        // Milliseconds are a mistake in the unit.
        assert!(matches!(
            after("1796083260000"),
            Err(ReminderError::TooFar { .. })
        ));
        assert!(matches!(
            after("9223372036854775807"),
            Err(ReminderError::TooFar { .. })
        ));
        assert!(matches!(after("-1h"), Err(ReminderError::Past { .. })));
    }
}
