//! Integration tests of the broker through the public API: its services on a real store, its gateway
//! on real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is the test's failure"
)]

mod agents;
mod approvals;
mod bind;
mod events;
mod gateway;
mod inbox;
mod kit;
mod model;
mod purge;
mod questions;
mod reconcile;
mod recv;
mod reminders;
mod schedule_edits;
mod schedules;
mod sessions;
mod topology;
mod turns;
mod wake_line;
mod web;
