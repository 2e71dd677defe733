//! The JSON documents that scripts rely on: stable snake_case keys, RFC 3339 times in UTC, ids as
//! numbers, `null` for what is absent. Keys are only added.
//!
//! - [`agent`], [`approval`], [`mail`], [`notify`], [`question`], [`schedule`], [`status`]: one file
//!   a noun
//! - [`absent`]: what counts as absent on the wire

mod absent;
mod agent;
mod approval;
mod mail;
mod notify;
mod question;
mod schedule;
mod status;

pub(super) use agent::Agent;
pub(super) use approval::Approval;
pub(super) use mail::{Event, Life, Message, Sent};
pub(super) use notify::{Notification, NotifyTried};
pub(super) use question::{Question, Reminder};
pub(super) use schedule::{Fired, Schedule, ScheduleDetail};
pub(super) use status::Status;
