//! Says in words how long a rate limit lasts.
//!
//! Claude Code sits out a `retry-after` of up to a minute; for a longer one it gives up at once and
//! passes on nothing but the error's message. So that the agent can be parked until the right time,
//! the time is put into the message. Only the small error document of a 429 is touched.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time::timeout;

use super::body::{Body, whole};

/// Longest error document that is read; a longer one is cut off here.
const DOCUMENT_BYTES: usize = 64 * 1024;
/// How long it may take to come.
const DOCUMENT_TIME: Duration = Duration::from_secs(10);

/// Passes every response on, a 429 that names a time with that time in its message.
pub(super) async fn in_words(response: Response<Body>) -> Response<Body> {
    let Some(seconds) = told(response.status(), response.headers()) else {
        return response;
    };
    let (mut parts, body) = response.into_parts();
    // When it does not come, the status and the header are what counts.
    let document = timeout(DOCUMENT_TIME, read(body)).await.unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::TRANSFER_ENCODING);
    let document = with_time(&document, seconds).unwrap_or(document);
    Response::from_parts(parts, whole(Bytes::from(document)))
}

/// What comes of a body, at most [`DOCUMENT_BYTES`] and a piece.
async fn read(mut body: Body) -> Vec<u8> {
    let mut document = Vec::new();
    while document.len() < DOCUMENT_BYTES
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(piece) = frame.into_data() {
            document.extend_from_slice(&piece);
        }
    }
    document
}

/// Seconds of the `retry-after` of a 429 with a plain body.
fn told(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    if status != StatusCode::TOO_MANY_REQUESTS || headers.contains_key(header::CONTENT_ENCODING) {
        return None;
    }
    headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn with_time(document: &[u8], seconds: u64) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(document).ok()?;
    let message = value.pointer_mut("/error/message")?;
    let text = format!("{} (retry after {seconds} seconds)", message.as_str()?);
    *message = Value::String(text);
    Some(value.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(status: u16, retry_after: Option<&str>, body: &'static str) -> String {
        let mut response = Response::builder()
            .status(status)
            .header("content-length", body.len());
        if let Some(time) = retry_after {
            response = response.header("retry-after", time);
        }
        let response = response
            .body(whole(Bytes::from_static(body.as_bytes())))
            .unwrap();
        let response = in_words(response).await;
        assert_eq!(
            response.headers().get("retry-after").is_some(),
            retry_after.is_some()
        );
        let length = response.headers().get("content-length").cloned();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        if let Some(length) = length {
            assert_eq!(length, bytes.len().to_string());
        }
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_rate_limit_says_its_time_and_nothing_else_is_touched() {
        const BODY: &str = r#"{"error":{"message":"slow down","type":"x"},"type":"error"}"#;
        let said = passed(429, Some("3600"), BODY).await;
        assert!(
            said.contains(r#""message":"slow down (retry after 3600 seconds)""#),
            "{said}"
        );
        for (status, retry_after, body) in [
            (429, None, BODY),
            (529, Some("3"), BODY),
            (200, Some("3"), BODY),
            (429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), BODY),
            (429, Some("3"), "no JSON"),
            (429, Some("3"), r#"{"error":"a word"}"#),
        ] {
            assert_eq!(
                passed(status, retry_after, body).await,
                body,
                "{status} {retry_after:?}"
            );
        }
    }
}
