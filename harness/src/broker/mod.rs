//! The client of `hived`, and the harness's session with it.
//!
//! - [`client`]: gRPC over a Unix socket, connecting again by itself
//! - [`calls`]: the agent's calls with their deadlines and their patience
//! - `ends`: its calls about questions, reminders and loose ends
//! - `manager`: a manager's further calls
//! - [`session`]: the session as the runner and the tools see it
//! - [`driver`]: open, attend, beat, open again
//! - [`backoff`]: the wait between two tries
//! - [`command`]: the calls of the command line

pub mod backoff;
pub mod calls;
pub mod client;
pub mod command;
pub mod driver;
mod ends;
mod manager;
pub mod session;

pub use calls::AgentCalls;
pub use client::BrokerClient;
pub use command::{CommandCalls, Items};
pub use driver::SessionDriver;

pub use session::{Cancels, Link, Opened, Says, Session};
