//! The hive tools over MCP: streamable HTTP on loopback for the engine.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::shutdown::Tasks;
use crate::tools::ToolContext;

/// A bound endpoint; nothing is answered until [`McpServer::run`].
#[derive(Debug)]
pub struct McpServer {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    #[expect(dead_code, reason = "the adapter follows")]
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
        let token = format!(
            "{}{}",
            uuid::Uuid::new_v4().simple(),
            uuid::Uuid::new_v4().simple()
        );
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            token,
            tools,
        })
    }

    /// `http://127.0.0.1:<port>/mcp`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What every request must carry.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves until `until`.
    pub async fn run(self, _tasks: Tasks, until: CancellationToken) {
        until.cancelled().await;
        drop(self.listener);
    }
}
