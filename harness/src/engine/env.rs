//! What the harness offers an engine: directories, doors, configuration, children.

use std::path::PathBuf;

use hive_proto::v1::{EngineConfig, ToolRule};

use crate::proc::Children;

/// Where an engine finds what the harness offers it.
#[derive(Clone, Debug)]
pub struct EngineEnv {
    /// Working directory of the engine: `/state` in a container.
    pub state: PathBuf,
    /// `HOME` of the engine.
    pub home: PathBuf,
    /// The harness's own files.
    pub harness: PathBuf,
    /// The engine's own writable run files (system prompt, MCP configuration): `/run/hive-agent`.
    pub run: PathBuf,
    /// Installed engines: `/opt/hive/engines`.
    pub engines: PathBuf,
    /// `http://127.0.0.1:<port>` of the forwarder to the gateway.
    pub gateway_url: String,
    /// MCP endpoint `http://127.0.0.1:<port>/mcp`.
    pub mcp_url: String,
    /// Bearer token of the MCP endpoint.
    pub mcp_token: String,
    /// hive's system prompt with the agent's role, rendered.
    pub system_prompt: String,
    pub config: EngineConfig,
    /// Which groups of tools the agent has: an engine that lists them once begins anew when this
    /// changes.
    pub tools: ToolRule,
    /// Starts its processes.
    pub children: Children,
}
