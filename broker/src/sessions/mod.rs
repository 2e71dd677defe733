//! Sessions: which harness serves an agent, whether it is there, and what it says it is doing.
//!
//! Epochs are in the database, liveness is in memory: a beat writes nothing unless it says something
//! new. After a restart of the broker every session has a fresh lease to come back.

mod attend;
mod error;
mod live;
mod loss;
mod open;
mod service;

pub use attend::Directive;
pub use error::SessionError;
pub use live::{Connection, Doing, Live};
pub use open::{Hello, Opened, Opening};
pub use service::{Beaten, Reach, Sessions};
