//! Errors in the shape of the Messages API, so that every engine understands them.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::body::{Body, whole};

/// Why the gateway itself answers instead of the upstream.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "hive has no model key: set key_env, key_file or key_command under [gateway] in hive.toml, \
         or ANTHROPIC_API_KEY in hived's environment"
    )]
    NoKey,
    #[error(
        "hive cannot read the model key that [gateway] in hive.toml names; hived's log says why"
    )]
    KeyUnreadable,
    #[error("the gateway of hive forwards model calls only; there is no network here")]
    NoEgress,
    #[error("the gateway of hive does not forward this path")]
    UnknownPath,
    #[error("the request's body is over {0} bytes")]
    TooLarge(u64),
    #[error("the request's body stopped coming")]
    BodyStalled,
    #[error("the request is not understood: {0}")]
    Malformed(String),
    #[error("the model's server cannot be reached")]
    Unreachable,
}

// === impl Refusal ===

impl Refusal {
    fn status(&self) -> u16 {
        match self {
            Self::NoKey | Self::KeyUnreadable => 401,
            Self::NoEgress => 403,
            Self::UnknownPath => 404,
            Self::TooLarge(_) => 413,
            Self::BodyStalled => 408,
            Self::Malformed(_) => 400,
            Self::Unreachable => 502,
        }
    }

    pub(super) fn response(&self) -> Response<Body> {
        error(self.status(), &self.to_string())
    }
}

/// An error of the Messages API.
pub(super) fn error(status: u16, message: &str) -> Response<Body> {
    let body = json!({
        "type": "error",
        "error": { "type": kind(status), "message": message },
    });
    json_response(status, &body)
}

/// A JSON document with a status; 500 stands for a status that is none.
pub(super) fn json_response(status: u16, document: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(whole(Bytes::from(document.to_string())));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// The word that the Messages API uses for errors of a status.
pub(super) fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    }
}
