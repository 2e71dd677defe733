//! A peer's server: a child process with its data in a directory of its own, gone when dropped.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hive_tests::daemon::Daemon;
use hive_tests::hive::tail;
use hive_tests::wait::pass;
use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub struct Server {
    // Dropped before the directory: the process is gone when its files are removed.
    daemon: Daemon,
    dir: TempDir,
}

// === impl Server ===

impl Server {
    /// A directory for a server's data, on the disk that hive's data lies on in these runs.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn folder(name: &str) -> Result<TempDir> {
        let prefix = format!("hb-{name}-");
        Ok(tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in("/tmp")?)
    }

    #[must_use]
    pub fn start(command: Command, dir: TempDir) -> Self {
        let log = dir.path().join("out.log");
        Self {
            daemon: Daemon::start(command, &log),
            dir,
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Waits until `socket` exists.
    ///
    /// # Errors
    /// The server's last words, when it ended or takes too long.
    pub async fn until_there(&mut self, socket: &Path) -> Result<()> {
        let start = Instant::now();
        while !socket.exists() {
            let log = self.path().join("out.log");
            if let Some(ended) = self.daemon.ended() {
                bail!("it ended at its start ({ended:?}): {}", tail(&log, 5));
            }
            if start.elapsed() > Duration::from_secs(20) {
                bail!("it does not serve: {}", tail(&log, 5));
            }
            pass(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// The first of these programs that exists: a bare name is looked up in PATH.
#[must_use]
pub fn program(candidates: &[&str]) -> Option<std::path::PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    candidates.iter().find_map(|candidate| {
        let folders = path.split(':').chain(["/usr/sbin", "/usr/local/bin"]);
        let mut tried = folders.map(|folder| Path::new(folder).join(candidate));
        tried.find(|file| file.is_file())
    })
}
