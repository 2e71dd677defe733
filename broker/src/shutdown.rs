//! How `hived` ends: listeners stop accepting, long polls answer `unavailable`, drivers finish their
//! step. A failed fsync takes the same way out with a non-zero exit code.

use std::time::Duration;

pub use hive_shutdown::{End, Tasks};

/// How long tasks have to end by themselves. Shorter than the 10 s that a service manager commonly
/// gives before KILL.
pub const GRACE: Duration = Duration::from_secs(5);
