//! The seam to what holds an agent's process: `docker` or `process`.
//!
//! "Cannot be asked" is an error of its own ([`RuntimeError::Unavailable`]) and never means "gone".

mod connect;
mod digest;
mod docker;
mod error;
mod instance;
mod process;
mod seam;
mod spec;

pub(crate) use digest::digest;

pub use connect::{ConnectError, connect};
pub use docker::Docker;
pub use error::RuntimeError;
pub use instance::{Changed, Exit, Instance, LogOptions, Status};
pub(crate) use process::end_marked;
pub use process::{Process, Trust};
pub use seam::Runtime;
pub use spec::{Limits, Mounts, Spec};
