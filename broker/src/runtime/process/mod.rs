//! The `process` runtime: an agent is a plain child `hive serve --child`. It isolates nothing, so it
//! runs the scripted engine only, unless hive.toml trusts it with real ones.
//!
//! The harness makes its own session and asks to be ended with its parent, so an instance rarely
//! outlives the broker; one that does (the broker came back at once) is adopted. What a dead harness
//! left behind is found by its marks in `/proc` and ended before the next start.

mod adapter;
mod command;
mod log;
mod scan;
mod spawner;
mod table;
mod tree;
mod watcher;

pub use adapter::{Process, Trust};
pub(crate) use tree::end_marked;
