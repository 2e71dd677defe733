//! Sessions: which harness serves an agent, whether it is there, and what it says it is doing.
//!
//! Epochs are in the database, liveness is in memory: a beat writes nothing unless it says something
//! new. After a restart of the broker every session has a fresh 60 s to come back.

mod attend;
mod error;
mod live;
mod open;
mod service;

pub use attend::Directive;
pub use error::SessionError;
pub use live::{Connection, Live};
pub use open::{Hello, Opened, Opening};
pub use service::{Beaten, Doing, Reach, Sessions};
