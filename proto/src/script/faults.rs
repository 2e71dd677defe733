//! What is wrong with a script: all of it, each with its line.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// A lower-case fragment.
    pub text: String,
}

/// Everything that is wrong with one file, by line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

/// Collects faults while a file is read.
pub(super) struct Collector<'a> {
    text: &'a str,
    found: Vec<Fault>,
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

// === impl Collector ===

impl<'a> Collector<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
        }
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    pub(super) fn add(&mut self, span: &Range<usize>, text: impl Into<String>) {
        self.found.push(Fault {
            line: self.line(span),
            text: text.into(),
        });
    }

    /// The faults in the order of their lines; none when the file is right.
    pub(super) fn finish(mut self) -> Option<Faults> {
        self.found.sort_by_key(|fault| fault.line);
        (!self.found.is_empty()).then_some(Faults(self.found))
    }
}
