//! The engine `claude`: the real Claude Code, kept as a long-lived stream-json process.
//!
//! - [`engine`]: the seam's methods; what is kept between turns
//! - `launch`, `files`, `session`: what the program is started with
//! - `process`, `lines`, `protocol`, `control`: bytes, lines, and what they mean
//! - `turn`, `drive`, `mcp_check`, `permission`: one turn
//! - `facts`, `outcome`, `patience`, `usage`: what a turn came to
//! - `prune`: clearing up

mod control;
mod drive;
mod engine;
mod facts;
mod files;
mod launch;
mod lines;
mod mcp_check;
mod outcome;
mod patience;
mod permission;
mod process;
mod protocol;
mod prune;
mod session;
mod turn;
mod usage;

pub use engine::Claude;
