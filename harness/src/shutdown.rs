//! How the harness ends: the running turn is interrupted, settled with the broker, and its processes
//! are ended.

use std::time::Duration;

pub use hive_shutdown::{End, Tasks};

/// How long tasks have to end by themselves. Shorter than the 10 s between TERM and KILL that a
/// container gets.
pub const GRACE: Duration = Duration::from_secs(9);
