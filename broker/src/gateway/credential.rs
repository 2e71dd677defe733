//! The real key: read when it is first needed, kept in memory, shown to nobody but the upstream.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use http::HeaderValue;
use http::header::{self, HeaderMap};
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::warn;

use super::refuse::Refusal;
use super::settings::{Credential, KeyHeader};

/// A key is one short line; more than this is not one.
const KEY_BYTES: u64 = 16 * 1024;
/// For a command that prints the key.
const COMMAND_TIME: Duration = Duration::from_secs(30);
/// Between two readings, so that a refused key does not run its command with every call.
const READ_AGAIN: Duration = Duration::from_secs(10);

/// The key of one upstream.
#[derive(Debug)]
pub(super) struct Key {
    source: Option<Credential>,
    header: KeyHeader,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Marked sensitive: its `Debug` does not show it.
    value: Option<HeaderValue>,
    read_at: Option<Instant>,
}

/// Why a key was not read. Never holds any part of it, nor what a command printed.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    #[error("the file cannot be read")]
    File(#[source] std::io::Error),
    #[error("the command cannot be run")]
    Command(#[source] std::io::Error),
    #[error("the command failed: {0}")]
    Failed(std::process::ExitStatus),
    #[error("the command took too long")]
    TooLong,
    #[error("what was read is empty or no key")]
    NoKey,
}

// === impl Key ===

impl Key {
    pub(super) fn new(source: Option<Credential>, header: KeyHeader) -> Self {
        Self {
            source,
            header,
            held: Mutex::default(),
        }
    }

    /// Adds the key to a request's headers.
    ///
    /// # Errors
    /// When there is none or it cannot be read.
    pub(super) async fn add_to(&self, headers: &mut HeaderMap) -> Result<(), Refusal> {
        let value = self.value().await?;
        let name = match self.header {
            KeyHeader::ApiKey => header::HeaderName::from_static("x-api-key"),
            KeyHeader::Bearer => header::AUTHORIZATION,
        };
        headers.insert(name, value);
        Ok(())
    }

    /// The upstream refused the key: it is read again before the next call, since a file or a
    /// command may have a new one by then.
    pub(super) async fn refused(&self) {
        let mut held = self.held.lock().await;
        if held.read_at.is_some_and(|at| at.elapsed() >= READ_AGAIN) {
            held.value = None;
        }
    }

    async fn value(&self) -> Result<HeaderValue, Refusal> {
        let source = self.source.as_ref().ok_or(Refusal::NoKey)?;
        let mut held = self.held.lock().await;
        if let Some(value) = &held.value {
            return Ok(value.clone());
        }
        let read = match read(source).await {
            Ok(text) => header_value(&text, self.header),
            Err(error) => Err(error),
        };
        let value = read.map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            warn!(%error, cause, "the model key cannot be read");
            match (source, error) {
                (Credential::Env(_), KeyError::NotSet(_)) => Refusal::NoKey,
                _ => Refusal::KeyUnreadable,
            }
        })?;
        held.value = Some(value.clone());
        held.read_at = Some(Instant::now());
        Ok(value)
    }
}

fn header_value(key: &str, header: KeyHeader) -> Result<HeaderValue, KeyError> {
    let key = key.trim();
    if key.is_empty() {
        return Err(KeyError::NoKey);
    }
    let text = match header {
        KeyHeader::ApiKey => key.to_owned(),
        KeyHeader::Bearer => format!("Bearer {key}"),
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| KeyError::NoKey)?;
    value.set_sensitive(true);
    Ok(value)
}

async fn read(source: &Credential) -> Result<String, KeyError> {
    match source {
        Credential::Env(name) => std::env::var(name).map_err(|_| KeyError::NotSet(name.clone())),
        Credential::File(path) => read_file(path).await.map_err(KeyError::File),
        Credential::Command(argv) => read_command(argv).await,
    }
}

async fn read_file(path: &Path) -> std::io::Result<String> {
    let file = tokio::fs::File::open(path).await?;
    let mut text = String::new();
    file.take(KEY_BYTES).read_to_string(&mut text).await?;
    Ok(text)
}

async fn read_command(argv: &[String]) -> Result<String, KeyError> {
    let (program, args) = argv.split_first().ok_or(KeyError::NoKey)?;
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(KeyError::Command)?;
    let stdout = child.stdout.take().ok_or(KeyError::NoKey)?;
    let whole = async {
        let mut text = String::new();
        let mut bounded = stdout.take(KEY_BYTES);
        let read = bounded.read_to_string(&mut text).await;
        read.map_err(KeyError::Command)?;
        // Closed before waiting, so that a program that prints for ever ends.
        drop(bounded);
        let status = child.wait().await.map_err(KeyError::Command)?;
        match status.success() {
            true => Ok(text),
            false => Err(KeyError::Failed(status)),
        }
    };
    tokio::time::timeout(COMMAND_TIME, whole)
        .await
        .unwrap_or(Err(KeyError::TooLong))
}
