//! The hive tools over MCP.
//!
//! - [`http`]: streamable HTTP on loopback, for the engine
//! - [`stdio`]: the bridge for engines that only speak MCP over pipes (`hive mcp`)
//! - [`handler`]: the adapter between rmcp and the tools, the same for both
//! - [`remote`]: a tool call handed to the harness over loopback

mod handler;
mod http;
mod remote;
mod stdio;

pub use http::McpServer;
pub use stdio::{BridgeError, bridge};
