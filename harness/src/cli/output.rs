//! The only place that prints. Texts of others go through [`escape`](super::escape) before.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use super::CliError;
use super::escape;

/// How a reading command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub(super) struct Format {
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

/// A colour, used only where stdout is a terminal and `NO_COLOR` is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Busy,
    Bad,
    Faint,
}

/// One line to stdout, as it is.
pub(super) fn line(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    // Seen at once by whoever reads a pipe line by line.
    Ok(stdout.flush()?)
}

/// Text to stdout that ends its own lines.
pub(super) fn text(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// One JSON document, indented for people.
pub(super) fn json(value: &impl Serialize) -> Result<(), CliError> {
    line(&encoded(serde_json::to_string_pretty(value))?)
}

/// One JSON document in one line, for streams.
pub(super) fn json_line(value: &impl Serialize) -> Result<(), CliError> {
    line(&encoded(serde_json::to_string(value))?)
}

fn encoded(result: serde_json::Result<String>) -> Result<String, CliError> {
    match result {
        Ok(document) => Ok(escape::json(&document)),
        Err(error) => Err(CliError::failed(format!("cannot write JSON: {error}"))),
    }
}

/// `error: …`, `hint: …` or `warning: …` in one line to stderr.
pub(super) fn complain(kind: &str, text: &str) {
    // Nothing is left to do when stderr is closed.
    _ = writeln!(io::stderr().lock(), "{kind}: {}", escape::line(text));
}

/// A line that is written over again and again, shown only on a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    terminal: bool,
}

// === impl Progress ===

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            shown: false,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Whether anyone sees it.
    pub(super) fn is_seen(&self) -> bool {
        self.terminal
    }

    pub(super) fn set(&mut self, text: &str) {
        if self.terminal {
            self.shown = true;
            let mut stderr = io::stderr().lock();
            _ = write!(stderr, "\r\x1b[K{}", escape::line(text));
            _ = stderr.flush();
        }
    }

    pub(super) fn clear(&mut self) {
        if self.shown {
            self.shown = false;
            let mut stderr = io::stderr().lock();
            _ = write!(stderr, "\r\x1b[K");
            _ = stderr.flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Whether stdin and stderr are a person's: a question can be asked.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question; anything but `y` or `yes` is a no.
pub(super) fn ask(question: &str) -> Result<bool, CliError> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// `text` in its colour, where colours are wanted.
pub(super) fn paint(tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => 32,
        Tone::Busy => 33,
        Tone::Bad => 31,
        Tone::Faint => 2,
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color || !io::stdout().is_terminal() {
        return text.to_owned();
    }
    format!("\x1b[{code}m{text}\x1b[0m")
}
