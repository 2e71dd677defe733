//! Where everything lies: the data directory, the socket directory, and each agent's share of both.

use std::path::{Path, PathBuf};

use hive_proto::limits::SOCKET_PATH_BYTES;
use hive_proto::name::{AgentName, NAME_BYTES};

/// The two directories of one hive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    home: PathBuf,
    run: PathBuf,
}

/// The socket directory is so deep that the longest agent name would not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the socket directory {run} is too deep: with the longest agent name a socket path has {bytes} bytes, \
     and Linux allows {SOCKET_PATH_BYTES}"
)]
pub struct RunTooDeep {
    pub run: String,
    pub bytes: usize,
}

// === impl Paths ===

impl Paths {
    /// # Errors
    /// When the longest possible socket path does not fit into `sun_path`.
    pub fn new(home: PathBuf, run: PathBuf) -> Result<Self, RunTooDeep> {
        let longest = run
            .join("agents")
            .join("a".repeat(NAME_BYTES))
            .join("gateway.sock");
        let bytes = longest.as_os_str().len();
        if bytes > SOCKET_PATH_BYTES {
            return Err(RunTooDeep {
                run: run.display().to_string(),
                bytes,
            });
        }
        Ok(Self { home, run })
    }

    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    #[must_use]
    pub fn run(&self) -> &Path {
        &self.run
    }

    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.home.join("lock")
    }

    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.home.join("hive.toml")
    }

    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.home.join("bin")
    }

    #[must_use]
    pub fn engines(&self) -> PathBuf {
        self.home.join("engines")
    }

    #[must_use]
    pub fn backups(&self) -> PathBuf {
        self.home.join("backups")
    }

    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    #[must_use]
    pub fn operator_socket(&self) -> PathBuf {
        self.run.join("operator.sock")
    }

    /// `$HIVE_HOME/agents/<name>`: holds `state`, `home` and `harness`.
    #[must_use]
    pub fn agent_home(&self, name: &AgentName) -> PathBuf {
        self.home.join("agents").join(name.as_str())
    }

    /// `$HIVE_RUN/agents/<name>`: holds the agent's sockets.
    #[must_use]
    pub fn agent_sockets(&self, name: &AgentName) -> PathBuf {
        self.run.join("agents").join(name.as_str())
    }

    /// `$HIVE_RUN/terminals/<name>`: writable by the agent.
    #[must_use]
    pub fn agent_terminal(&self, name: &AgentName) -> PathBuf {
        self.run.join("terminals").join(name.as_str())
    }
}
