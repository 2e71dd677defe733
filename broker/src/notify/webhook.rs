//! A notification as an HTTP request: signed, without redirects, within its time.

use std::time::Duration;

use hive_proto::ids::UnixMs;
use http::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER, USER_AGENT};
use http::{HeaderValue, StatusCode};
use reqwest::redirect::Policy;

use super::notice::{Notice, plain};
use super::secret::{self, SecretError};
use super::settings::{Address, Url, Webhook, address};
use super::shapes;
use super::signature::{NotASecret, SigningKey};
use crate::model::notification::Verdict;

/// For the connection alone.
const CONNECT: Duration = Duration::from_secs(5);
/// What is kept of a receiver's complaint.
const COMPLAINT: usize = 200;
/// Parts of a secret URL that are shorter are words like `api`.
const PART: usize = 8;

/// Why the receiver does not have it. Never holds a secret or the URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebhookError {
    #[error("the {0}: {1}")]
    Secret(&'static str, SecretError),
    #[error(transparent)]
    NotASecret(#[from] NotASecret),
    #[error("the token cannot stand in a header")]
    Token,
    #[error("the URL that was read {0}")]
    Address(String),
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("{0}")]
    Transport(String),
    #[error("the receiver answered {status}{complaint}")]
    Refused {
        status: StatusCode,
        complaint: String,
        not_before: Option<UnixMs>,
    },
}

// === impl WebhookError ===

impl WebhookError {
    /// A redirect and a refusal of the request itself end the same way at every try: 408, 425 and 429
    /// say that another time is better. A secret that cannot be read is the operator's to mend, and
    /// may be by the next try.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Refused { status, .. } if status.is_redirection() => Verdict::Final,
            Self::Refused { status, .. }
                if status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429) =>
            {
                Verdict::Final
            }
            Self::Refused { not_before, .. } => Verdict::Again {
                not_before: *not_before,
            },
            Self::Secret(..)
            | Self::NotASecret(_)
            | Self::Token
            | Self::Address(_)
            | Self::Timeout(_)
            | Self::Transport(_) => Verdict::Again { not_before: None },
        }
    }
}

/// The client of all webhooks.
///
/// # Errors
/// When it cannot be made.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    // The one provider that hive is built with; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        // A redirect would carry the notification, and a token, to wherever it points.
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT)
        .build()
}

/// Posts it and waits for the receiver's word.
///
/// # Errors
/// When the receiver does not say that it has it.
pub(super) async fn post(
    client: &reqwest::Client,
    webhook: &Webhook,
    timeout: Duration,
    notice: &Notice,
    payload: &str,
    now: UnixMs,
) -> Result<(), WebhookError> {
    let url = url(webhook).await?;
    let shape = shapes::shape(webhook.format, notice, payload);
    let mut headers = shape.headers;
    let agent = concat!("hived/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    sign(webhook, &notice.data.id, now, &shape.body, &mut headers).await?;
    let mut secrets = said_by(webhook, &url);
    secrets.extend(authorise(webhook, &mut headers).await?);
    let request = client.post(url).headers(headers).body(shape.body);
    let answered = async {
        let response = request
            .send()
            .await
            .map_err(|error| failed(error, timeout))?;
        judge(response, now, &secrets).await
    };
    tokio::time::timeout(timeout, answered)
        .await
        .unwrap_or(Err(WebhookError::Timeout(timeout)))
}

async fn url(webhook: &Webhook) -> Result<Url, WebhookError> {
    let source = match &webhook.address {
        Address::Plain(url) => return Ok(url.clone()),
        Address::Secret(source) => source,
    };
    let text = secret::read(source).await;
    let text = text.map_err(|error| WebhookError::Secret("URL", error))?;
    address(&text, webhook.allow_http).map_err(WebhookError::Address)
}

/// What a receiver may say back of a URL that is a secret: all of it behind the host, whole or in
/// parts.
fn said_by(webhook: &Webhook, url: &Url) -> Vec<String> {
    match &webhook.address {
        Address::Plain(_) => return Vec::new(),
        Address::Secret(_) => {}
    }
    let query = url.query().unwrap_or_default();
    let parts = url.path().split('/').chain(query.split(['&', '=']));
    let whole = [url.path(), query, url.password().unwrap_or_default()];
    let told = parts.filter(|part| part.len() >= PART).chain(whole);
    told.filter(|one| one.len() > 1)
        .map(str::to_owned)
        .collect()
}

/// A text without these, the longest first: one may be a part of another.
fn without(secrets: &[String], mut text: String) -> String {
    let mut longest: Vec<&String> = secrets.iter().collect();
    longest.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in longest {
        text = text.replace(secret.as_str(), "…");
    }
    text
}

async fn sign(
    webhook: &Webhook,
    id: &str,
    now: UnixMs,
    body: &[u8],
    headers: &mut HeaderMap,
) -> Result<(), WebhookError> {
    let Some(source) = &webhook.secret else {
        return Ok(());
    };
    let text = secret::read(source).await;
    let key = SigningKey::parse(&text.map_err(|error| WebhookError::Secret("secret", error))?)?;
    let seconds = now.0.div_euclid(1000);
    let fields = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", key.sign(id, seconds, body)),
    ];
    for (name, value) in fields {
        // All three are hive's own ASCII.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    Ok(())
}

/// Adds the token; gives it back so that it can be kept out of what is written down.
async fn authorise(
    webhook: &Webhook,
    headers: &mut HeaderMap,
) -> Result<Option<String>, WebhookError> {
    let Some(source) = &webhook.token else {
        return Ok(None);
    };
    let text = secret::read(source).await;
    let token = text.map_err(|error| WebhookError::Secret("token", error))?;
    let value = HeaderValue::try_from(format!("Bearer {token}"));
    let mut value = value.map_err(|_| WebhookError::Token)?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(Some(token))
}

async fn judge(
    mut response: reqwest::Response,
    now: UnixMs,
    secrets: &[String],
) -> Result<(), WebhookError> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let not_before = retry_after(response.headers(), now);
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk[..chunk.len().min(COMPLAINT * 4)]);
        if bytes.len() >= COMPLAINT * 4 {
            break;
        }
    }
    let text = without(secrets, String::from_utf8_lossy(&bytes).into_owned());
    let complaint = match plain(&text, COMPLAINT) {
        empty if empty.is_empty() => empty,
        text => format!(": {text}"),
    };
    Err(WebhookError::Refused {
        status,
        complaint,
        not_before,
    })
}

/// Seconds or a date.
fn retry_after(headers: &HeaderMap, now: UnixMs) -> Option<UnixMs> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(now.plus_ms(i64::from(seconds) * 1000));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(UnixMs(date.timestamp().as_millisecond()))
}

/// The causes of a failure without the URL, which may be a secret itself.
fn failed(error: reqwest::Error, timeout: Duration) -> WebhookError {
    if error.is_timeout() {
        return WebhookError::Timeout(timeout);
    }
    let error = error.without_url();
    let mut causes = vec![error.to_string()];
    let mut next = std::error::Error::source(&error);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    WebhookError::Transport(causes.join(": "))
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use http::header::{HeaderMap, RETRY_AFTER};
    use http::{HeaderValue, StatusCode};

    use super::{WebhookError, retry_after};
    use crate::model::notification::Verdict;

    const NOW: UnixMs = UnixMs(1_445_412_000_000);

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let read = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            retry_after(&headers, NOW)
        };
        assert_eq!(read("120"), Some(NOW.plus_ms(120_000)));
        let date = read("Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(date, Some(UnixMs(1_445_412_480_000)));
        assert_eq!(read("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new(), NOW), None);
    }

    #[test]
    fn a_refusal_of_the_request_is_final_and_everything_else_is_not() {
        let verdict = |code: u16| {
            let error = WebhookError::Refused {
                status: StatusCode::from_u16(code).unwrap(),
                complaint: String::new(),
                not_before: None,
            };
            error.verdict() == Verdict::Final
        };
        for code in [301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422] {
            assert!(verdict(code), "{code}");
        }
        for code in [408, 425, 429, 500, 502, 503, 504] {
            assert!(!verdict(code), "{code}");
        }
    }
}
