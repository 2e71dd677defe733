//! Secrets by reference: read when they are needed, so that a new one works without a restart, and
//! shown to nobody but the receiver.

use std::path::PathBuf;

use rustix::fs::OFlags;
use tokio::fs::OpenOptions;
use tokio::io::AsyncReadExt as _;

use super::settings::Source;

/// A secret is one short line.
const BYTES: u64 = 16 * 1024;

/// Why a secret is not to be had. Never holds any part of it.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretError {
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    #[error("{path} cannot be read: {why}", path = path.display())]
    File { path: PathBuf, why: String },
    #[error("what was read is empty")]
    Empty,
}

/// Reads it.
///
/// # Errors
/// When it is not there, or empty.
pub(super) async fn read(source: &Source) -> Result<String, SecretError> {
    let text = match source {
        Source::Env(name) => std::env::var(name).map_err(|_| SecretError::NotSet(name.clone()))?,
        Source::File(path) => {
            let unreadable = |error: std::io::Error| SecretError::File {
                path: path.clone(),
                why: error.to_string(),
            };
            // A pipe that nobody fills must not hold up the channel, nor hived's end.
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path)
                .await
                .map_err(unreadable)?;
            let mut text = String::new();
            let read = file.take(BYTES).read_to_string(&mut text).await;
            read.map_err(unreadable)?;
            text
        }
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(SecretError::Empty);
    }
    Ok(text.to_owned())
}
