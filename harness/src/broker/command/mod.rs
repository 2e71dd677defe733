//! The calls of the command line, one file a noun, as plain results.
//!
//! - [`calls`]: one try with a deadline, single answers and streams
//! - [`refusal`]: a status as a refusal that says which socket did not answer
//! - [`agents`], [`approvals`], [`messages`], [`notify`], [`questions`], [`schedules`], [`streams`], [`status`],
//!   [`topology`]: the operator's calls
//! - [`own`]: the calls of a process beside an agent, on that agent's socket

mod agents;
mod approvals;
mod calls;
mod messages;
mod notify;
mod own;
mod questions;
mod refusal;
mod schedules;
mod status;
mod streams;
mod topology;

pub use calls::{CommandCalls, Items};
