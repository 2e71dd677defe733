//! What a command fails with: one sentence, maybe a hint, and the exit code of the contract.

use std::io::Write as _;
use std::process::ExitCode;

use hive_proto::Refusal;
use hive_proto::reason::exit_code;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The broker answered with a refusal, or could not be asked.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Wrong usage that clap could not see.
    #[error("{message}")]
    Usage { message: String, hint: String },
    /// Failed for a reason of its own.
    #[error("{message}")]
    Failed { message: String, hint: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Everything was said already; only the exit code is left.
    #[error("exit {0}")]
    Exit(u8),
}

// === impl CliError ===

impl CliError {
    /// A failure with one sentence.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            hint: String::new(),
        }
    }

    /// The exit code of the contract.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused(refusal) => exit_code(refusal.reason),
            Self::Usage { .. } => 2,
            Self::Failed { .. } | Self::Io(_) => 1,
            Self::Exit(code) => *code,
        }
    }

    fn hint(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.hint,
            Self::Usage { hint, .. } | Self::Failed { hint, .. } => hint,
            Self::Io(_) | Self::Exit(_) => "",
        }
    }
}

/// Prints `error: …` and `hint: …` to stderr and gives the exit code.
#[must_use]
pub fn report(error: &CliError) -> ExitCode {
    if !matches!(error, CliError::Exit(_)) {
        let mut stderr = std::io::stderr().lock();
        // Nothing is left to do when stderr is closed.
        _ = writeln!(stderr, "error: {error}");
        if !error.hint().is_empty() {
            _ = writeln!(stderr, "hint: {}", error.hint());
        }
    }
    ExitCode::from(error.code())
}
