//! One newtype for each kind of number, so that a turn's id is never passed as a message's.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// An agent, for ever: purge and create gives the same name another id.
    AgentId(i64)
);
id!(
    /// An inbox row; grows with every row of the hive.
    MessageId(i64)
);
id!(
    /// One run of an engine.
    TurnId(i64)
);
id!(
    /// Fences sessions of one agent: the greater epoch wins.
    Epoch(u64)
);
id!(
    /// A question; never used again.
    QuestionId(i64)
);
id!(
    /// A reminder; never used again.
    ReminderId(i64)
);
id!(
    /// Position in the events table.
    EventSeq(i64)
);

id!(
    /// A change or an act that waits for the operator.
    ApprovalId(i64)
);
id!(
    /// A prompt on a timetable.
    ScheduleId(i64)
);

/// A point in time: Unix milliseconds, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

// === impl UnixMs ===

impl UnixMs {
    /// This time moved by `ms` milliseconds, without overflow.
    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// RFC 3339 in UTC with milliseconds, or the empty string for 0 and for times out of range.
    #[must_use]
    pub fn rfc3339(self) -> String {
        if self.0 == 0 {
            return String::new();
        }
        jiff::Timestamp::from_millisecond(self.0)
            .map(|time| format!("{time:.3}"))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::UnixMs;

    #[test]
    fn times_print_as_rfc3339() {
        assert_eq!(
            UnixMs(1_700_000_000_123).rfc3339(),
            "2023-11-14T22:13:20.123Z"
        );
        assert_eq!(UnixMs(0).rfc3339(), "");
        assert_eq!(UnixMs(i64::MAX).rfc3339(), "");
    }
}
