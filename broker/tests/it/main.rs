//! Integration tests of the broker through the public API: its services on a real store, its gateway
//! on real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is the test's failure"
)]

mod agents;
mod approvals;
mod bind;
mod disk;
mod events;
mod gateway;
mod inbox;
mod kit;
mod loose_ends;
mod model;
mod notify;
mod notify_leaks;
mod purge;
mod questions;
#[expect(
    unreachable_pub,
    clippy::expect_used,
    reason = "shared with the kit of the end-to-end tests"
)]
#[path = "../../../tests/src/receiver.rs"]
mod receiver;
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
