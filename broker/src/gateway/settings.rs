//! What the gateway is told by hive.toml, already checked.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::script::Script;
use reqwest::Url;

/// Everything that a gateway needs to know.
#[derive(Debug)]
pub struct Settings {
    pub upstream: Target,
    pub limits: Limits,
}

/// Who answers model calls.
#[derive(Debug)]
pub enum Target {
    /// A server that speaks the Messages API. The request's path is put behind the URL's.
    Http {
        url: Url,
        /// `None`: every call is answered 401.
        credential: Option<Credential>,
        header: KeyHeader,
    },
    /// A script, inside of hived; no key is needed.
    Scripted(Script),
}

/// Where the real key is read from, when it is first needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A variable of hived's environment.
    Env(String),
    /// A file; surrounding white space is cut off.
    File(PathBuf),
    /// A program with its arguments, run without a shell; its standard output is the key.
    Command(Vec<String>),
}

/// How the upstream wants the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyHeader {
    /// `x-api-key: KEY`
    #[default]
    ApiKey,
    /// `authorization: Bearer KEY`
    Bearer,
}

/// Bounds on what one agent can make the gateway hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at once, of one agent; more wait in the socket's backlog.
    pub connections: usize,
    /// Headers of one request: their number.
    pub headers: usize,
    /// Headers of one request: their bytes together, with the request line. Looked at after each
    /// read, so one read may go over it.
    pub head_bytes: usize,
    /// For the whole head of a request; an idle connection is closed after it too.
    pub head_time: Duration,
    /// Bytes of one request's body.
    pub body_bytes: u64,
    /// Between two pieces of a request's body.
    pub body_pause: Duration,
    /// To connect to the upstream.
    pub connect_time: Duration,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            headers: 100,
            head_bytes: 64 * 1024,
            head_time: Duration::from_secs(60),
            body_bytes: 64 * 1024 * 1024,
            body_pause: Duration::from_secs(60),
            connect_time: Duration::from_secs(10),
        }
    }
}
