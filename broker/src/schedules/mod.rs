//! Schedules: prompts on a timetable. The operator's run at once; an agent's run when a person has
//! approved exactly them.
//!
//! - `draft`: what a caller asks for, checked into a definition
//! - `payload`: a definition as the bytes that are approved, and back
//! - `make`, `edit`, `cancel`, `fire`, `settle`: the acts, each one transaction
//! - `carry`: what an approval brings about
//! - `authority`: whose schedules an agent may touch, and whom it may write to

mod authority;
mod cancel;
mod carry;
mod draft;
mod edit;
mod error;
mod fire;
mod make;
mod payload;
mod service;
mod settle;
mod view;

pub use authority::Actor;
pub use draft::{Change, Draft, When};
pub use edit::Edited;
pub use error::ScheduleError;
pub use make::Made;
pub use service::{Schedules, SettledCounts};
pub use view::{Fired, ScheduleDetail, ScheduleView};

pub(crate) use cancel::{cancel, drop_purged};
pub(crate) use carry::carry_out;

pub use crate::store::schedules::{
    Listing, Membership, OccurrenceRow, Owner, ScheduleRow, Settled, TargetRow,
};
