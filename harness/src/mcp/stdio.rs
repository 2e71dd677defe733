//! MCP on stdin and stdout, each call handed to the harness of this container.

use std::path::{Path, PathBuf};

use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio;

use super::handler::{Handler, Place};
use super::remote::Remote;
use crate::rundir;

/// Why the bridge could not serve.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("no harness runs here: {path} cannot be read")]
    NoHarness {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the client did not begin an MCP session")]
    Begin(#[from] Box<ServerInitializeError>),
    #[error("the bridge broke")]
    Broke(#[from] tokio::task::JoinError),
}

/// Serves until stdin ends.
///
/// # Errors
/// [`BridgeError`].
pub async fn bridge(run_dir: &Path) -> Result<(), BridgeError> {
    let published = rundir::read(run_dir).map_err(|source| BridgeError::NoHarness {
        path: run_dir.join(rundir::FILE),
        source,
    })?;
    let handler = Handler::new(Place::Harness(Box::new(Remote::new(&published))));
    let serving = rmcp::serve_server(handler, stdio())
        .await
        .map_err(Box::new)?;
    serving.waiting().await?;
    Ok(())
}
