//! Streamable HTTP on loopback: MCP for the engine, and one plain route for the stdio bridge. Every
//! request carries the bearer token, which only the agent's own user can read.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use hive_proto::limits::RPC_BYTES;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::handler::{Handler, Place};
use super::remote::{Answer, CALL_PATH, Call, TOOLS_PATH};
use crate::tools::{CallKey, ToolContext};

/// A bound endpoint; nothing is answered until [`McpServer::run`].
#[derive(Debug)]
pub struct McpServer {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    tools: ToolContext,
}

// === impl McpServer ===

impl McpServer {
    /// Binds a free port of 127.0.0.1 and makes a token.
    ///
    /// # Errors
    /// When loopback cannot be bound.
    pub async fn bind(tools: ToolContext) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let random = || uuid::Uuid::new_v4().simple();
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            token: format!("{}{}", random(), random()),
            tools,
        })
    }

    /// `http://127.0.0.1:<port>/mcp`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What every request must carry as `Authorization: Bearer …`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves until `until`: an engine that is being interrupted may still call.
    pub async fn run(self, until: CancellationToken) {
        let router = self.router(&until);
        tokio::select! {
            served = axum::serve(self.listener, router) => {
                if let Err(error) = served {
                    warn!(%error, "the tools are not offered any more");
                }
            }
            () = until.cancelled() => {}
        }
    }

    fn router(&self, until: &CancellationToken) -> Router {
        let place = Place::Here(Box::new(self.tools.clone()));
        let handler = Handler::new(place.clone());
        // The default keeps sessions for older clients: without them their cancel is lost.
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts([self.address.to_string()])
            .with_allowed_origins([format!("http://{}", self.address)])
            .with_max_request_body_bytes(RPC_BYTES)
            .with_cancellation_token(until.child_token());
        let mcp = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        Router::new()
            .nest_service("/mcp", mcp)
            .route(CALL_PATH, post(call))
            .route(TOOLS_PATH, post(offered))
            .with_state(place)
            .layer(DefaultBodyLimit::max(RPC_BYTES))
            .layer(from_fn_with_state(Arc::from(self.token.as_str()), bearer))
    }
}

/// One tool call of the stdio bridge.
async fn call(State(place): State<Place>, Json(call): Json<Call>) -> Json<Answer> {
    let key = call.tool_use.map_or(CallKey::Unknown, CallKey::ToolUse);
    let result = place.call(call.name, key, call.arguments).await;
    Json(result.into())
}

/// The names of the tools that the agent has now.
async fn offered(State(place): State<Place>) -> Json<Vec<&'static str>> {
    let tools = place.offered().await;
    Json(tools.into_iter().map(|tool| tool.name).collect())
}

async fn bearer(
    State(token): State<Arc<str>>,
    request: Request,
    next: Next,
) -> Result<Response, StatusCode> {
    if carries(request.headers(), &token) {
        Ok(next.run(request).await)
    } else {
        Err(StatusCode::UNAUTHORIZED)
    }
}

/// Compares without giving away how much of the token was right.
fn carries(headers: &HeaderMap, token: &str) -> bool {
    let Some(given) = headers.get(AUTHORIZATION).and_then(|value| {
        let value = value.to_str().ok()?;
        value.strip_prefix("Bearer ")
    }) else {
        return false;
    };
    let pairs = given.bytes().zip(token.bytes());
    given.len() == token.len() && pairs.fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}
