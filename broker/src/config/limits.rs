//! `[limits]`: what agents may make the broker do, how often things are tried, how long they are kept.

use std::ops::RangeInclusive;
use std::time::Duration;

use hive_proto::limits::{BODY_BYTES, MAILBOX_ROWS};
use toml::Table;

use super::fields::Fields;
use crate::model::restart::Rule;
use crate::model::retention::Terms;
use crate::model::retry::Retry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Calls a second on one agent's socket, and as many at once.
    pub agent_rpcs_per_sec: u32,
    /// Unfinished rows of one mailbox.
    pub mailbox_rows: u32,
    /// A message's body, in bytes of UTF-8.
    pub body_bytes: usize,
    pub retry: Retry,
    /// Without a beat for so long a session is lost, and so are its leases.
    pub lease: Duration,
    /// A message that nobody has taken for so long is stalled.
    pub stalled: Duration,
    pub restarts: Rule,
    pub keep: Terms,
}

const DAY_SECS: u64 = 24 * 60 * 60;
/// How long anything finished may be kept: longer than anybody looks back, short enough to count in.
const DAYS: RangeInclusive<u64> = 1..=3_650;

// === impl LimitsConfig ===

impl LimitsConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "limits", "limits", faults);
        let most = 1_000_000;
        let body = BODY_BYTES as u64;
        let config = Self {
            agent_rpcs_per_sec: narrow(fields.ranged("agent_rpcs_per_sec", 200, 1..=most)),
            mailbox_rows: narrow(fields.ranged("mailbox_rows", MAILBOX_ROWS.into(), 1..=most)),
            // The wire's own limits are made for the default: it can only be lowered.
            body_bytes: narrow(fields.ranged("body_bytes", body, 1_024..=body)) as usize,
            retry: retry(&mut fields),
            // Shorter than four of a busy machine's pauses would lose sessions that are well.
            lease: Duration::from_secs(fields.ranged("lease_secs", 60, 20..=3_600)),
            stalled: Duration::from_secs(60 * fields.ranged("stalled_minutes", 15, 1..=10_080)),
            restarts: restarts(&mut fields),
            keep: Terms {
                acked_mail: signed(fields.ranged("acked_mail_days", 30, DAYS)),
                turns: signed(fields.ranged("turns_days", 90, DAYS)),
                events: signed(fields.ranged("events_days", 90, DAYS)),
                stream_events: signed(fields.ranged("stream_events_days", 14, DAYS)),
            },
        };
        fields.finish();
        config
    }
}

fn retry(fields: &mut Fields<'_>) -> Retry {
    let attempts = narrow(fields.ranged("attempts", 5, 0..=1_000));
    let first = fields.ranged("backoff_min_secs", 5, 1..=DAY_SECS);
    let longest = fields.ranged("backoff_max_secs", 300, 1..=DAY_SECS);
    if longest < first {
        fields.fault(
            "backoff_max_secs",
            format!("{longest} is less than backoff_min_secs, which is {first}"),
        );
    }
    Retry {
        attempts,
        first_ms: signed(first) * 1_000,
        longest_ms: signed(longest) * 1_000,
    }
}

fn restarts(fields: &mut Fields<'_>) -> Rule {
    let most = narrow(fields.ranged("restarts", 5, 0..=1_000)) as usize;
    let window = fields.ranged("restart_window_secs", 600, 1..=DAY_SECS);
    Rule {
        most,
        window_ms: signed(window) * 1_000,
        ..Rule::default()
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::limits::{BACKOFF_MS, LOST_MS, MAX_ATTEMPTS, STALLED_MS};
    use toml::Table;

    use super::LimitsConfig;
    use crate::model::restart::Rule;
    use crate::model::retention::Terms;
    use crate::model::retry::Retry;

    fn read(text: &str) -> (LimitsConfig, Vec<String>) {
        let mut table: Table = toml::from_str(&format!("[limits]\n{text}")).unwrap();
        let mut faults = Vec::new();
        let config = LimitsConfig::read(&mut table, &mut faults);
        (config, faults)
    }

    #[test]
    fn the_defaults_are_those_of_the_code_that_has_no_file() {
        let (config, faults) = read("");
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(config.retry, Retry::default());
        assert_eq!(config.retry.attempts, MAX_ATTEMPTS);
        assert_eq!((config.retry.first_ms, config.retry.longest_ms), BACKOFF_MS);
        assert_eq!(config.restarts, Rule::default());
        assert_eq!(config.keep, Terms::default());
        assert_eq!(config.lease, Duration::from_millis(LOST_MS.into()));
        assert_eq!(config.stalled.as_millis(), STALLED_MS.unsigned_abs().into());
    }

    #[test]
    fn every_key_is_taken() {
        let (config, faults) = read(
            "agent_rpcs_per_sec = 1\nmailbox_rows = 2\nbody_bytes = 2048\nattempts = 1\n\
             backoff_min_secs = 2\nbackoff_max_secs = 3\nlease_secs = 20\nstalled_minutes = 4\n\
             restarts = 0\nrestart_window_secs = 30\nacked_mail_days = 1\nturns_days = 2\n\
             events_days = 3\nstream_events_days = 4",
        );
        assert_eq!(faults, Vec::<String>::new());
        let expected = LimitsConfig {
            agent_rpcs_per_sec: 1,
            mailbox_rows: 2,
            body_bytes: 2_048,
            retry: Retry {
                attempts: 1,
                first_ms: 2_000,
                longest_ms: 3_000,
            },
            lease: Duration::from_secs(20),
            stalled: Duration::from_secs(240),
            restarts: Rule {
                most: 0,
                window_ms: 30_000,
                ..Rule::default()
            },
            keep: Terms {
                acked_mail: 1,
                turns: 2,
                events: 3,
                stream_events: 4,
            },
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn every_value_out_of_its_bounds_is_said_at_once() {
        let (_, faults) = read(
            "body_bytes = 2000000\nattempts = -1\nbackoff_min_secs = 0\nbackoff_max_secs = 2\n\
             lease_secs = 5\nstalled_minutes = 0\nrestarts = 1001\nrestart_window_secs = 0\n\
             acked_mail_days = 0\nturns_days = 0\nevents_days = 0\nstream_events_days = 4000\n\
             retries = 3",
        );
        let keys = [
            "body_bytes",
            "attempts",
            "backoff_min_secs",
            "backoff_max_secs",
            "lease_secs",
            "stalled_minutes",
            "restarts",
            "restart_window_secs",
            "acked_mail_days",
            "turns_days",
            "events_days",
            "stream_events_days",
            "retries",
        ];
        for key in keys {
            let start = format!("limits.{key}: ");
            assert!(
                faults.iter().any(|fault| fault.starts_with(&start)),
                "no {key} in {faults:#?}"
            );
        }
        assert_eq!(faults.len(), keys.len(), "{faults:#?}");
    }
}
