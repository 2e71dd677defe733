//! The broker's rows as hive.v1 shows them.

mod agent;
mod mail;
mod session;

pub use mail::{delivered, receipt};
pub use session::opened;
