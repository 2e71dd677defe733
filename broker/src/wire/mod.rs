//! The broker's rows as hive.v1 shows them.

mod agent;
mod approvals;
mod ask;
mod mail;
mod notify;
pub mod rights;
mod schedules;
mod session;

pub use mail::{delivered, receipt};
pub use schedules::{edited, schedules};
pub use session::opened;

use hive_proto::ids::UnixMs;

/// 0 stands for "not yet".
fn ms(at: Option<UnixMs>) -> i64 {
    at.map_or(0, |at| at.0)
}
