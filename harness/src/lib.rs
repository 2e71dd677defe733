//! hive: the harness, the in-container helper and the operator's command: see ARCHITECTURE.md.
//!
//! - [`cli`]: the commands, one file each
//! - [`broker`]: the client of `hived`, the harness's session
//! - [`engine`]: the seam to what runs a turn

pub mod broker;
pub mod cli;
pub mod engine;
