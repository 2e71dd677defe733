//! `hived scripted-upstream`: a script on a port of its own, for tests and for engines outside of a
//! hive.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hive_proto::script::{Faults, Script};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::server::{Scripted, serve_standalone};

/// What it is told.
#[derive(Clone, Debug)]
pub struct Standalone {
    /// Port 0 takes a free one.
    pub listen: SocketAddr,
    pub script: PathBuf,
    /// What clients must present, if anything.
    pub key: Option<String>,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    #[error("{path}: {why}", path = path.display())]
    Read { path: PathBuf, why: std::io::Error },
    #[error("{path}:\n{faults}", path = path.display())]
    Script { path: PathBuf, faults: Faults },
    #[error("{listen}: {why}")]
    Listen {
        listen: SocketAddr,
        why: std::io::Error,
    },
    #[error("the address cannot be printed")]
    Print(#[source] std::io::Error),
}

// === impl Standalone ===

impl Standalone {
    /// Prints the URL to `out` in one line and serves until `stopping`.
    ///
    /// # Errors
    /// When the script is not right or the address cannot be had.
    pub async fn run(
        self,
        out: &mut impl Write,
        stopping: CancellationToken,
    ) -> Result<(), StandaloneError> {
        let mut scripted = Scripted::new(read(&self.script)?);
        if let Some(key) = self.key {
            scripted = scripted.requiring(key);
        }
        let listen = self.listen;
        let failed = |why| StandaloneError::Listen { listen, why };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        writeln!(out, "http://{address}")
            .and_then(|()| out.flush())
            .map_err(StandaloneError::Print)?;
        serve_standalone(Arc::new(scripted), listener, stopping).await;
        Ok(())
    }
}

fn read(path: &Path) -> Result<Script, StandaloneError> {
    let path = path.to_owned();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) => return Err(StandaloneError::Read { path, why }),
    };
    Script::parse(&text).map_err(|faults| StandaloneError::Script { path, faults })
}
