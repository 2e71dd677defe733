//! `hive up`: from nothing to a running hive with a manager, and what to try next.
//!
//! - [`command`]: the command itself
//! - [`choose`]: which runtime, which engine, and why
//! - [`daemon`]: starts `hived` and waits until it serves
//! - [`crew`]: the manager and, for the story, two agents; waits until they are there
//! - [`first_config`]: the hive.toml of a hive that has none

mod choose;
mod command;
mod crew;
mod daemon;
mod first_config;

pub(super) use choose::{KEY_VARIABLE, claude, key};
pub(super) use command::{Args, private_dir, run};
pub(super) use crew::stopped_before;

use command::{EngineArg, RuntimeArg};
