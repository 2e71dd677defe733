//! What a channel is: whom it tells, of what, how, and how patiently.

use std::path::PathBuf;
use std::time::Duration;

pub use reqwest::Url;

use crate::model::concern::Concern;
use crate::model::notification::Patience;

/// One channel of hive.toml.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub on: Vec<Concern>,
    pub way: Way,
    /// Two notifications of one kind lie that far apart; what comes between goes out together.
    pub fold_ms: i64,
    /// Of one try.
    pub timeout: Duration,
    pub patience: Patience,
    /// Whether what agents wrote is told too, shortened.
    pub details: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Command(Program),
    Webhook(Webhook),
}

/// A program that is run for each notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program's absolute path and its arguments; never a command line.
    pub run: Vec<String>,
    /// Further variables of hived's environment that it gets.
    pub env: Vec<String>,
}

/// A URL that each notification is posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub address: Address,
    /// What it is signed with.
    pub secret: Option<Source>,
    /// Sent as a bearer token.
    pub token: Option<Source>,
    pub format: Format,
    pub allow_http: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Plain(Url),
    /// Whoever knows it can post there, as with Slack's.
    Secret(Source),
}

/// Where a secret is read from, each time that it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Env(String),
    File(PathBuf),
}

/// What the body looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Hive,
    Ntfy,
    Slack,
}

// === impl Format ===

impl Format {
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "hive" => Some(Self::Hive),
            "ntfy" => Some(Self::Ntfy),
            "slack" => Some(Self::Slack),
            _ => None,
        }
    }
}

// === impl Way ===

impl Way {
    /// The word in hive.toml.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Webhook(_) => "webhook",
        }
    }
}

/// A webhook's URL: https, or http to this host itself, or any http where that is allowed.
///
/// # Errors
/// What is wrong with it, without the URL itself.
pub fn address(text: &str, allow_http: bool) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|_| "is not a URL".to_owned())?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if allow_http || is_loopback(&url) => Ok(url),
        "http" => Err("is plain http to another host: use https, or set allow_http".to_owned()),
        _ => Err("is neither https nor http".to_owned()),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}
