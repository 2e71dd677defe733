//! The client of `hived`, and the harness's session with it.
//!
//! - [`client`]: gRPC over a Unix socket, connecting again by itself

pub mod client;

pub use client::BrokerClient;
