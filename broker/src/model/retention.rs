//! How long what is finished is kept.

/// Days; what is older goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub acked_mail: i64,
    pub turns: i64,
    /// Events that somebody may ask for.
    pub events: i64,
    /// Events that come and go with ordinary running.
    pub stream_events: i64,
}

// === impl Terms ===

impl Default for Terms {
    fn default() -> Self {
        Self {
            acked_mail: 30,
            turns: 90,
            events: 90,
            stream_events: 14,
        }
    }
}

impl Terms {
    /// The shortest of them.
    #[must_use]
    pub fn shortest(&self) -> i64 {
        self.acked_mail
            .min(self.turns)
            .min(self.events)
            .min(self.stream_events)
    }
}
