//! hive: the harness, the in-container helper and the operator's command: see ARCHITECTURE.md.
//!
//! - [`cli`]: the commands, one file each
//! - [`broker`]: the client of `hived`, the harness's session
//! - [`app`]: the harness put together; [`settings`] is what its environment says
//! - [`turn`]: one turn after another
//! - [`engine`]: the seam to what runs a turn
//! - [`tools`]: the hive tools; [`mcp`] offers them to engines
//! - [`forwarder`]: loopback to the gateway
//! - [`proc`]: processes of a turn and their end
//! - [`rundir`]: where other processes find the harness
//! - [`shutdown`]: the only place that spawns tasks

pub mod app;
pub mod broker;
pub mod cli;
pub mod engine;
pub mod forwarder;
pub mod mcp;
pub mod proc;
pub mod rundir;
pub mod settings;
pub mod shutdown;
pub mod tools;
pub mod turn;
