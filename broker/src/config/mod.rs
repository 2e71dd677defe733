//! `hive.toml`: strict, every fault reported at once. The reference is docs/hive-toml.md.
//!
//! Precedence: built-in < `hive.toml` < flags of `hived`.

mod agent;
mod disk;
mod engine;
mod fields;
mod gateway;
mod limits;
mod load;
mod notify;
mod runtime;
mod size;

pub use agent::AgentConfig;
pub use engine::EngineConfig;
pub use gateway::{GatewayConfig, GatewayTarget};
pub use limits::LimitsConfig;
pub use load::{Config, ConfigError, Flags};
pub use runtime::{RuntimeConfig, RuntimeKind};
