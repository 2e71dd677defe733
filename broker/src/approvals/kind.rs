//! What can be asked for.

/// A kind of approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An agent's schedule, new or changed.
    SchedulePrompt,
}

// === impl Kind ===

impl Kind {
    const ALL: [Self; 1] = [Self::SchedulePrompt];

    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SchedulePrompt => "schedule_prompt",
        }
    }

    /// The reverse of [`Self::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
