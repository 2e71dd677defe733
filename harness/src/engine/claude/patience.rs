//! How long a provider asks to wait, read from what Claude Code says about it.
//!
//! The program waits out a `retry-after` of up to a minute by itself and announces the wait; a
//! longer one ends the turn at once, and then only the provider's own words are left to read.

use std::sync::LazyLock;

use regex::Regex;

/// Longest announced wait that a turn sits out; a longer one ends the turn and parks the agent.
pub(super) const SIT_OUT_MS: f64 = 10_000.0;

/// Longest park that is believed: 8 days covers a weekly limit.
const LONGEST_MS: i64 = 8 * 24 * 3600 * 1000;

static RELATIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:retry[ -]after|try again in|wait|resets? in)[: ]+(?:about )?(\d{1,7}(?:\.\d+)?) ?(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h)?\b",
    )
    .ok()
});
static EPOCH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\|(\d{10})\b").ok());
static STAMP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))").ok()
});

/// When an announced wait ends, in Unix milliseconds.
pub(super) fn park_end(from_ms: i64, delay_ms: f64) -> i64 {
    from_ms.saturating_add(bounded(delay_ms))
}

/// The end of a wait named in an error text, in Unix milliseconds: `retry after 30 s`, a time
/// stamp, or the `|<unix seconds>` of a usage limit.
pub(super) fn parse_wait(said: &str, now_ms: i64) -> Option<i64> {
    let until = absolute(said).or_else(|| relative(said, now_ms))?;
    (until > now_ms && until - now_ms <= LONGEST_MS).then_some(until)
}

fn absolute(said: &str) -> Option<i64> {
    if let Some(found) = EPOCH.as_ref().and_then(|regex| regex.captures(said)) {
        return found[1].parse::<i64>().ok().map(|seconds| seconds * 1000);
    }
    let found = STAMP.as_ref().and_then(|regex| regex.captures(said))?;
    let stamp: jiff::Timestamp = found[1].parse().ok()?;
    Some(stamp.as_millisecond())
}

fn relative(said: &str, now_ms: i64) -> Option<i64> {
    let found = RELATIVE.as_ref().and_then(|regex| regex.captures(said))?;
    let amount: f64 = found[1].parse().ok()?;
    let unit = found
        .get(2)
        .map_or("s", |unit| unit.as_str())
        .to_lowercase();
    let factor = match unit.as_str() {
        unit if unit.starts_with("ms") || unit.starts_with("mil") => 1.0,
        unit if unit.starts_with('m') => 60_000.0,
        unit if unit.starts_with('h') => 3_600_000.0,
        _ => 1000.0,
    };
    Some(park_end(now_ms, amount * factor))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to a range that i64 holds"
)]
fn bounded(ms: f64) -> i64 {
    ms.clamp(0.0, LONGEST_MS as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_from_what_providers_say() {
        let now = 1_796_083_200_000;
        for (said, want) in [
            (
                "API Error: Request rejected (429) · retry after 30 seconds",
                Some(30_000),
            ),
            ("rate limited; retry-after: 3600", Some(3_600_000)),
            ("please try again in 2.5 minutes", Some(150_000)),
            ("try again in 900ms", Some(900)),
            ("try again in about 3 h", Some(10_800_000)),
            ("Claude AI usage limit reached|1796083260", Some(60_000)),
            ("limit resets at 2026-12-01T00:10:00Z", Some(600_000)),
            ("API Error: Request rejected (429) · fake 429", None),
            ("retry after 0 s", None),
            ("limit was reset at 2020-01-01T00:00:00Z", None),
            ("try again in 9999999 hours", Some(LONGEST_MS)),
        ] {
            assert_eq!(
                parse_wait(said, now).map(|until| until - now),
                want,
                "{said}"
            );
        }
    }
}
