//! Cron patterns in a time zone.
//!
//! The rule for days on which clocks change, for times that a pattern names (not for `*/5`, which
//! simply goes on): a time that does not exist fires once, at the first moment after the gap; a time
//! that exists twice fires once, at its first occurrence.

use croner::parser::{CronParser, Seconds, Year};
use hive_proto::ids::UnixMs;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A pattern and its zone, checked: there is a next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    pattern: String,
    /// IANA name.
    zone: String,
}

/// Why a pattern or a zone is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronFault {
    #[error("{pattern:?} is no cron pattern of five fields: {why}")]
    Pattern { pattern: String, why: String },
    #[error("the cron pattern {0:?} never comes")]
    Never(String),
    #[error("there is no time zone {0:?}")]
    Zone(String),
}

/// A pattern ready to be asked.
#[derive(Debug)]
pub(super) struct Ready {
    cron: croner::Cron,
    zone: TimeZone,
}

// === impl Cron ===

impl Cron {
    /// Checks both; an empty zone is UTC.
    ///
    /// # Errors
    /// [`CronFault`].
    pub fn new(pattern: &str, zone: &str, now: UnixMs) -> Result<Self, CronFault> {
        let zone = match zone.trim() {
            "" => "UTC",
            zone => zone,
        };
        // One spelling of one pattern: what is shown is what is compared.
        let words: Vec<&str> = pattern.split_whitespace().collect();
        let new = Self {
            pattern: words.join(" "),
            zone: zone.to_owned(),
        };
        new.ready()?
            .after(now)
            .ok_or_else(|| CronFault::Never(new.pattern.clone()))?;
        Ok(new)
    }

    /// As it was stored: it was checked when it was made.
    #[must_use]
    pub fn stored(pattern: String, zone: String) -> Self {
        Self { pattern, zone }
    }

    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    #[must_use]
    pub fn zone(&self) -> &str {
        &self.zone
    }

    pub(super) fn ready(&self) -> Result<Ready, CronFault> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser
            .parse(&self.pattern)
            .map_err(|error| CronFault::Pattern {
                pattern: self.pattern.clone(),
                why: error.to_string(),
            })?;
        let zone = TimeZone::get(&self.zone).map_err(|_| CronFault::Zone(self.zone.clone()))?;
        Ok(Ready { cron, zone })
    }
}

// === impl Ready ===

impl Ready {
    /// The first time after `after`; none when the pattern never comes again.
    pub(super) fn after(&self, after: UnixMs) -> Option<UnixMs> {
        let from = self.zoned(after)?;
        let next = self.cron.find_next_occurrence(&from, false).ok()?;
        Some(UnixMs(next.timestamp().as_millisecond()))
    }

    /// The last time at or before `upto`; none when there was none.
    pub(super) fn at_or_before(&self, upto: UnixMs) -> Option<UnixMs> {
        let from = self.zoned(upto)?;
        let last = self.cron.find_previous_occurrence(&from, true).ok()?;
        Some(UnixMs(last.timestamp().as_millisecond()))
    }

    fn zoned(&self, at: UnixMs) -> Option<Zoned> {
        let at = Timestamp::from_millisecond(at.0).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{Cron, CronFault};

    fn at(text: &str) -> UnixMs {
        UnixMs(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    /// The times of a pattern between two moments, in UTC.
    fn times(pattern: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
        let ready = Cron::new(pattern, zone, at(from)).unwrap().ready().unwrap();
        let mut all = Vec::new();
        let mut last = at(from);
        while let Some(next) = ready.after(last).filter(|next| *next <= at(to)) {
            // The way back names the same slots.
            assert_eq!(ready.at_or_before(next), Some(next), "{pattern} {zone}");
            all.push(next.rfc3339().replace(":00.000Z", "Z"));
            last = next;
        }
        all
    }

    #[test]
    fn a_time_that_does_not_exist_fires_once_at_the_first_moment_after_the_gap() {
        // Berlin: 02:00 +01:00 becomes 03:00 +02:00 on 2027-03-28.
        assert_eq!(
            times(
                "30 2 * * *",
                "Europe/Berlin",
                "2027-03-26T12:00:00Z",
                "2027-03-29T12:00:00Z"
            ),
            [
                "2027-03-27T01:30Z",
                "2027-03-28T01:00Z",
                "2027-03-29T00:30Z"
            ]
        );
        // Chicago: 02:00 -06:00 becomes 03:00 -05:00 on 2027-03-14.
        assert_eq!(
            times(
                "30 2 * * *",
                "America/Chicago",
                "2027-03-13T12:00:00Z",
                "2027-03-15T12:00:00Z"
            ),
            ["2027-03-14T08:00Z", "2027-03-15T07:30Z"]
        );
        // Lord Howe: 02:00 +10:30 becomes 02:30 +11:00 on 2027-10-03, half an hour.
        assert_eq!(
            times(
                "15 2 * * *",
                "Australia/Lord_Howe",
                "2027-10-01T18:00:00Z",
                "2027-10-03T18:00:00Z"
            ),
            ["2027-10-02T15:30Z", "2027-10-03T15:15Z"]
        );
        // 02:30 exists there.
        assert_eq!(
            times(
                "30 2 * * *",
                "Australia/Lord_Howe",
                "2027-10-01T18:00:00Z",
                "2027-10-03T18:00:00Z"
            ),
            ["2027-10-02T15:30Z", "2027-10-03T15:30Z"]
        );
    }

    #[test]
    fn a_time_that_exists_twice_fires_once_at_its_first_occurrence() {
        // Berlin: 03:00 +02:00 becomes 02:00 +01:00 on 2027-10-31.
        assert_eq!(
            times(
                "30 2 * * *",
                "Europe/Berlin",
                "2027-10-30T12:00:00Z",
                "2027-11-01T12:00:00Z"
            ),
            ["2027-10-31T00:30Z", "2027-11-01T01:30Z"]
        );
        assert_eq!(
            times(
                "30 1 * * *",
                "America/Chicago",
                "2027-11-06T12:00:00Z",
                "2027-11-08T12:00:00Z"
            ),
            ["2027-11-07T06:30Z", "2027-11-08T07:30Z"]
        );
        // Lord Howe: 02:00 +11:00 becomes 01:30 +10:30 on 2027-04-04.
        assert_eq!(
            times(
                "45 1 * * *",
                "Australia/Lord_Howe",
                "2027-04-02T18:00:00Z",
                "2027-04-04T18:00:00Z"
            ),
            ["2027-04-03T14:45Z", "2027-04-04T15:15Z"]
        );
    }

    #[test]
    fn patterns_of_intervals_go_on_through_a_change() {
        // 61 minutes are 61 slots, also where the hour comes twice.
        let minutes = times(
            "* * * * *",
            "Europe/Berlin",
            "2027-10-31T00:30:00Z",
            "2027-10-31T01:31:00Z",
        );
        assert_eq!(minutes.len(), 61);
        assert_eq!(
            times(
                "*/30 * * * *",
                "Europe/Berlin",
                "2027-10-31T00:00:00Z",
                "2027-10-31T02:00:00Z"
            ),
            [
                "2027-10-31T00:30Z",
                "2027-10-31T01:00Z",
                "2027-10-31T01:30Z",
                "2027-10-31T02:00Z"
            ]
        );
        assert_eq!(
            times(
                "*/30 * * * *",
                "Europe/Berlin",
                "2027-03-28T00:00:00Z",
                "2027-03-28T01:30:00Z"
            ),
            [
                "2027-03-28T00:30Z",
                "2027-03-28T01:00Z",
                "2027-03-28T01:30Z"
            ]
        );
    }

    #[test]
    fn the_leap_day_comes_every_fourth_year() {
        assert_eq!(
            times(
                "0 9 29 2 *",
                "UTC",
                "2027-01-01T00:00:00Z",
                "2033-01-01T00:00:00Z"
            ),
            ["2028-02-29T09:00Z", "2032-02-29T09:00Z"]
        );
    }

    #[test]
    fn what_is_no_pattern_is_refused_at_once() {
        let now = at("2027-01-01T00:00:00Z");
        for bad in [
            "",
            "* * * *",
            "0 * * * * *",
            "0 0 9 * * * 2027",
            "61 * * * *",
            "a b c d e",
            "@reboot",
        ] {
            let fault = Cron::new(bad, "UTC", now);
            assert!(
                matches!(fault, Err(CronFault::Pattern { .. })),
                "{bad:?}: {fault:?}"
            );
        }
        assert!(matches!(
            Cron::new("0 0 30 2 *", "UTC", now),
            Err(CronFault::Never(_))
        ));
        assert!(matches!(
            Cron::new("0 9 * * *", "Mars/Olympus", now),
            Err(CronFault::Zone(_))
        ));
        let daily = Cron::new("  @daily ", "", now).unwrap();
        assert_eq!((daily.pattern(), daily.zone()), ("@daily", "UTC"));
    }
}
