//! What a run of a reconciler did, as `hive status` shows it.

/// What a run did, in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    counts: Vec<(&'static str, usize)>,
    note: Option<String>,
}

// === impl Report ===

impl Report {
    /// Adds a count, e.g. `checked`.
    #[must_use]
    pub fn count(mut self, what: &'static str, how_many: usize) -> Self {
        self.counts.push((what, how_many));
        self
    }

    /// Adds a sentence on what was out of the ordinary.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// The count of that name; 0 when there is none.
    #[must_use]
    pub fn get(&self, what: &str) -> usize {
        self.counts
            .iter()
            .find(|(name, _)| *name == what)
            .map_or(0, |(_, count)| *count)
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (what, count)) in self.counts.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {what}")?;
        }
        match &self.note {
            Some(note) if self.counts.is_empty() => f.write_str(note),
            Some(note) => write!(f, " ({note})"),
            None => Ok(()),
        }
    }
}
