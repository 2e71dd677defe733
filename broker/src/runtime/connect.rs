//! From configuration to a runtime. Nothing is asked of it yet: it may be away when hived starts.

use std::sync::Arc;

use super::{Docker, Process, Runtime, Trust};
use crate::config::{RuntimeConfig, RuntimeKind};
use crate::paths::Paths;
use crate::shutdown::Tasks;

/// The runtime cannot even be addressed.
#[derive(Debug, thiserror::Error)]
#[error("the {runtime} runtime cannot be used: {why}")]
pub struct ConnectError {
    pub runtime: &'static str,
    pub why: String,
}

/// The runtime that hive.toml names, for the hive of that id.
///
/// # Errors
/// When its address is no address, or a thread cannot be made.
pub fn connect(
    config: &RuntimeConfig,
    paths: &Paths,
    hive_id: &str,
    tasks: &Tasks,
) -> Result<Arc<dyn Runtime>, ConnectError> {
    let fault = |why: String| ConnectError {
        runtime: config.kind.word(),
        why,
    };
    match config.kind {
        RuntimeKind::Process => {
            let trust = if config.process_trusted {
                Trust::Everything
            } else {
                Trust::ScriptedOnly
            };
            let process = Process::new(hive_id.to_owned(), trust, tasks.clone())
                .map_err(|error| fault(error.to_string()))?;
            Ok(Arc::new(process))
        }
        RuntimeKind::Docker => {
            let docker = Docker::new(&config.docker_host, paths.clone(), hive_id.to_owned());
            Ok(Arc::new(docker.map_err(fault)?))
        }
    }
}
