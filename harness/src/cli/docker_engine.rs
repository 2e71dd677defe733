//! Asks a Docker engine a question over its Unix socket: plain HTTP/1.0, which the engine answers
//! in one piece and then closes. `hived` alone drives the engine; this only looks.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::hive_toml::HiveToml;

/// The whole exchange.
const PATIENCE: Duration = Duration::from_secs(5);
/// `/info` of a large engine has some 10 KiB.
const MOST: u64 = 4 * 1024 * 1024;

/// Where the engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DockerEngine {
    Local(PathBuf),
    /// Another machine's, or one behind a protocol that hive does not speak.
    Remote(String),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("it is a remote engine ({0})")]
    Remote(String),
    #[error("{path}: {error}")]
    Io { path: String, error: std::io::Error },
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Silent,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("what answers is not a Docker engine")]
    Nonsense,
}

// === impl DockerEngine ===

impl DockerEngine {
    /// The engine that hive.toml names, else `$DOCKER_HOST`, else the usual one.
    pub(super) fn configured(config: &HiveToml) -> Self {
        let host = config.docker_host().filter(|host| !host.is_empty());
        let variable = || std::env::var("DOCKER_HOST").ok();
        Self::named(host.map(str::to_owned).or_else(variable))
    }

    /// The engine that `host` names; the usual socket without one.
    fn named(host: Option<String>) -> Self {
        let Some(host) = host.filter(|host| !host.is_empty()) else {
            return Self::Local(PathBuf::from("/var/run/docker.sock"));
        };
        match host.strip_prefix("unix://") {
            Some(path) => Self::Local(PathBuf::from(path)),
            None => Self::Remote(host),
        }
    }

    /// The JSON document behind `path`.
    pub(super) async fn ask(&self, path: &str) -> Result<Value, AskError> {
        let socket = match self {
            Self::Local(socket) => socket,
            Self::Remote(host) => return Err(AskError::Remote(host.clone())),
        };
        let failed = |error| AskError::Io {
            path: socket.display().to_string(),
            error,
        };
        let exchange = async {
            let mut stream = UnixStream::connect(socket).await?;
            let request = format!("GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.take(MOST).read_to_end(&mut answer).await?;
            Ok(answer)
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(Ok(answer)) => parse(&answer),
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => Err(AskError::Silent),
        }
    }

    /// Whether the engine has this image.
    pub(super) async fn has_image(&self, image: &str) -> Result<bool, AskError> {
        match self.ask(&format!("/images/{image}/json")).await {
            Ok(_) => Ok(true),
            Err(AskError::Status(404)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Status line, headers, empty line, body.
fn parse(answer: &[u8]) -> Result<Value, AskError> {
    let text = std::str::from_utf8(answer).map_err(|_| AskError::Nonsense)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(AskError::Nonsense)?;
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|status| status.parse().ok())
        .ok_or(AskError::Nonsense)?;
    if status != 200 {
        return Err(AskError::Status(status));
    }
    serde_json::from_str(body).map_err(|_| AskError::Nonsense)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{AskError, DockerEngine, parse};

    #[test]
    fn the_host_decides() {
        let named = |host: &str| DockerEngine::named(Some(host.to_owned()));
        assert_eq!(
            named("unix:///x/docker.sock"),
            DockerEngine::Local(PathBuf::from("/x/docker.sock"))
        );
        assert_eq!(
            named("tcp://10.0.0.1:2375"),
            DockerEngine::Remote("tcp://10.0.0.1:2375".to_owned())
        );
        assert_eq!(
            DockerEngine::named(None),
            DockerEngine::Local(PathBuf::from("/var/run/docker.sock"))
        );
    }

    #[test]
    fn answers_are_read_strictly() {
        let body = parse(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"x\":1}").unwrap();
        assert_eq!(body["x"], 1);
        let missing = parse(b"HTTP/1.0 404 Not Found\r\n\r\n{}");
        assert!(matches!(missing, Err(AskError::Status(404))));
        for nonsense in [&b"hello"[..], b"HTTP/1.0 200 OK\r\n\r\nno", b"\xff", b""] {
            assert!(matches!(parse(nonsense), Err(AskError::Nonsense)));
        }
    }
}
