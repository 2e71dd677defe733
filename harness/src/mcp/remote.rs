//! A tool call handed to the harness over loopback: only the harness knows the running turn.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rundir::Published;
use crate::tools::CallKey;

/// The route that takes a [`Call`] and answers an [`Answer`].
pub(super) const CALL_PATH: &str = "/call";
/// The route that answers the names of the tools that the agent has now.
pub(super) const TOOLS_PATH: &str = "/tools";
/// The largest answer: a `recv` of 3 MiB, escaped.
const ANSWER_BYTES: usize = 24 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) tool_use: Option<String>,
    pub(super) arguments: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Done(Value),
    /// The text for the model.
    Failed(String),
}

/// The harness of this container.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    client: Client<HttpConnector, Full<Bytes>>,
    /// `http://127.0.0.1:<port>`.
    base: String,
    token: String,
}

/// Why the harness could not be asked.
#[derive(Debug, thiserror::Error)]
enum RemoteError {
    #[error("the harness cannot be reached")]
    Away(#[from] hyper_util::client::legacy::Error),
    #[error("the harness answered {0}")]
    Status(StatusCode),
    #[error("the harness's answer broke off")]
    Body(#[from] Box<dyn std::error::Error + Send + Sync>),
    #[error("the harness's answer makes no sense")]
    Answer(#[from] serde_json::Error),
    #[error("the harness's address makes no sense")]
    Address(#[from] axum::http::Error),
}

// === impl Remote ===

impl Remote {
    pub(super) fn new(published: &Published) -> Self {
        let base = published.mcp_url.trim_end_matches("/mcp");
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            base: base.to_owned(),
            token: published.mcp_token.clone(),
        }
    }

    /// Runs a tool in the harness; the error is the text for the model.
    pub(super) async fn call(
        &self,
        name: &str,
        key: CallKey,
        arguments: Value,
    ) -> Result<Value, String> {
        let call = Call {
            name: name.to_owned(),
            tool_use: match key {
                CallKey::ToolUse(id) | CallKey::Step(id) => Some(id),
                CallKey::Unknown => None,
            },
            arguments,
        };
        match self.ask(CALL_PATH, &call).await {
            Ok(Answer::Done(value)) => Ok(value),
            Ok(Answer::Failed(text)) => Err(text),
            Err(error) => Err(format!("unavailable: {error}")),
        }
    }

    /// Names of the tools that the agent has now; none when the harness does not say.
    pub(super) async fn offered(&self) -> Option<Vec<String>> {
        match self.ask(TOOLS_PATH, &()).await {
            Ok(names) => Some(names),
            Err(error) => {
                tracing::warn!(%error, "which tools there are is not known");
                None
            }
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        content: &impl Serialize,
    ) -> Result<T, RemoteError> {
        let request = Request::post(format!("{}{path}", self.base))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(serde_json::to_vec(content)?))?;
        let response = self.client.request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(RemoteError::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), ANSWER_BYTES);
        Ok(serde_json::from_slice(&body.collect().await?.to_bytes())?)
    }
}

// === impl Answer ===

impl From<Result<Value, String>> for Answer {
    fn from(result: Result<Value, String>) -> Self {
        match result {
            Ok(value) => Self::Done(value),
            Err(text) => Self::Failed(text),
        }
    }
}
