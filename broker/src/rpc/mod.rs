//! gRPC: parse, call a service, render. What is durable is the services' business.
//!
//! - [`serve_operator`], [`serve_doors`]: the sockets, each with its bounds
//! - [`AgentRpc`]: `AgentService` for the one agent whose socket it is
//! - [`OperatorRpc`]: `OperatorService` for people, one file a noun

mod agent;
mod connection;
mod doors;
mod gate;
mod operator;
mod send;
mod server;
mod status;

pub use agent::AgentRpc;
pub use doors::{serve_doors, serve_operator};
pub use operator::OperatorRpc;
