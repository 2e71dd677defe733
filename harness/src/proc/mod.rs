//! Processes of a turn: started in a group of their own, ended with everything they started.
//!
//! The harness is a subreaper, so whatever its descendants leave behind stays its descendant. A child
//! may call `setsid`, so a group is not enough: the tree is read from `/proc`. Every signal goes
//! through a pidfd after the start time was compared, so a reused pid is never hit.
//!
//! - [`children`]: starts groups, and reaps every child but those that somebody waits for
//! - [`end`]: ends a tree, or everything that a turn left behind
//! - [`table`]: what `/proc` shows, and what belongs together

mod children;
mod end;
mod table;

pub use children::{Children, Group, become_subreaper};
