//! What a process does before and after being a hive: limits, umask, the one line of a failed start.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

use crate::agents::{AgentsError, BinaryError, IdentityError};
use crate::bind::BindError;
use crate::config::ConfigError;
use crate::gateway::GatewayError;
use crate::lock::LockError;
use crate::runtime::ConnectError;
use crate::store::StoreError;

/// Why `hived` did not start, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the directory {path} cannot be used: {source}", path = path.display())]
    Directory {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("{address} cannot be listened on: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error(transparent)]
    Binary(#[from] BinaryError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Runtime(#[from] ConnectError),
    #[error(transparent)]
    Agents(#[from] AgentsError),
    #[error("no HTTP client can be made: {0}")]
    Notify(reqwest::Error),
    #[error("signals cannot be taken: {0}")]
    Signals(std::io::Error),
}

// === impl StartError ===

impl StartError {
    /// What the operator can do; empty where the message says it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Config(_) => "docs/hive-toml.md lists every key",
            Self::Lock(LockError::Taken { .. }) => {
                "`hive status` shows that hive; give another --home for a second one"
            }
            Self::Lock(LockError::Io { .. }) | Self::Directory { .. } => {
                "it must be writable and belong to the user that runs hived"
            }
            Self::Store(StoreError::Corrupt { .. }) => {
                "`hive restore FILE` puts a backup in its place; nothing was changed"
            }
            Self::Store(StoreError::SchemaTooNew { .. }) => {
                "run the hived that wrote it, or a newer one; nothing was changed"
            }
            Self::Store(StoreError::Full) => "free space on the disk that holds the hive",
            Self::Store(
                StoreError::Conflict { .. }
                | StoreError::NotFound(_)
                | StoreError::Fsync(_)
                | StoreError::Stopped
                | StoreError::Illegal(_)
                | StoreError::Sqlite(_),
            ) => "is the data directory writable, and its disk sound?",
            Self::Bind(_) => "end the process that serves it, or give another --run",
            Self::Listen { .. } => "give another address with --listen",
            Self::Binary(_) => "build hive with `make build`, or name it by agent.hive_binary",
            Self::Runtime(_) => "`hive doctor` says what the runtime lacks",
            Self::Gateway(_)
            | Self::Notify(_)
            | Self::Identity(_)
            | Self::Agents(_)
            | Self::Signals(_) => "",
        }
    }
}

/// A umask that grants nobody else anything, and as many descriptors as the system allows: each
/// agent takes a handful, and the default of 1,024 is soon used up.
pub fn prepare_process() {
    umask(Mode::RWXG | Mode::RWXO);
    let limit = getrlimit(Resource::Nofile);
    // Denied only where the hard limit was lowered meanwhile; the old limit then stays.
    _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    // One provider for every TLS user in the process; a second install in tests is no fault.
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// One clear line on stderr, and a hint under it.
#[must_use]
pub fn report(why: &str, hint: &str) -> ExitCode {
    let mut stderr = std::io::stderr().lock();
    // A closed stderr cannot be told about.
    _ = writeln!(stderr, "error: {why}");
    if !hint.is_empty() {
        _ = writeln!(stderr, "hint: {hint}");
    }
    ExitCode::from(1)
}
