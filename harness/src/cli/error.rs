//! What a command fails with: one sentence, maybe a hint, and the exit code of the contract.

use std::process::ExitCode;

use hive_proto::Refusal;
use hive_proto::reason::exit_code;
use hive_proto::v1::Reason;

use super::output;

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

    /// Wrong usage with one sentence.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: String::new(),
        }
    }

    /// A refusal that the command decides by itself.
    pub fn refused(reason: Reason, message: impl Into<String>) -> Self {
        Self::Refused(Refusal::new(reason, message))
    }

    /// The same error with another hint, where it has room for one.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        match self {
            Self::Refused(refusal) => Self::Refused(refusal.with_hint(hint)),
            Self::Usage { message, .. } => Self::Usage { message, hint },
            Self::Failed { message, .. } => Self::Failed { message, hint },
            Self::Io(_) | Self::Exit(_) => self,
        }
    }

    /// The exit code of the contract.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused(refusal) => exit_code(refusal.reason),
            Self::Usage { .. } => 2,
            // The reader of the output had enough: nothing failed.
            Self::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
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

    fn is_silent(&self) -> bool {
        match self {
            Self::Exit(_) => true,
            Self::Io(error) => error.kind() == std::io::ErrorKind::BrokenPipe,
            Self::Refused(_) | Self::Usage { .. } | Self::Failed { .. } => false,
        }
    }
}

/// Prints `error: …` and `hint: …` to stderr and gives the exit code.
#[must_use]
pub fn report(error: &CliError) -> ExitCode {
    if !error.is_silent() {
        output::complain("error", &error.to_string());
        if !error.hint().is_empty() {
            output::complain("hint", error.hint());
        }
    }
    ExitCode::from(error.code())
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::Reason;

    use super::CliError;

    #[test]
    fn every_kind_has_its_exit_code() {
        let codes = [
            (CliError::failed("x"), 1),
            (CliError::usage("x"), 2),
            (CliError::refused(Reason::NotFound, "x"), 3),
            (CliError::refused(Reason::UnknownAgent, "x"), 3),
            (CliError::refused(Reason::NotPermitted, "x"), 4),
            (CliError::refused(Reason::Unavailable, "x"), 5),
            (CliError::refused(Reason::Timeout, "x"), 6),
            (CliError::Exit(3), 3),
            (CliError::Io(std::io::ErrorKind::BrokenPipe.into()), 0),
            (CliError::Io(std::io::ErrorKind::NotFound.into()), 1),
        ];
        for (error, code) in codes {
            assert_eq!(error.code(), code, "{error:?}");
        }
    }
}
