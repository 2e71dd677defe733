//! gRPC: parse, call a service, render. What is durable is the services' business.
//!
//! - [`serve_operator`], [`serve_doors`]: the sockets, each with its bounds
//! - [`authorisation`]: who may call what, as a table; the guard enforces it
//! - [`AgentRpc`]: `AgentService` for the one agent whose socket it is
//! - [`ManagerRpc`]: `ManagerService` beside it, for managers
//! - [`OperatorRpc`]: `OperatorService` for people, one file a noun

mod agent;
mod ask;
pub mod authorisation;
mod connection;
mod doors;
mod gate;
mod guard;
mod manager;
mod operator;
mod peers;
mod schedules;
mod send;
mod server;
mod status;

pub use agent::AgentRpc;
pub use doors::{serve_doors, serve_operator};
pub use manager::ManagerRpc;
pub use operator::OperatorRpc;
