//! The gateway over real sockets: what passes, what stays, and how it ends.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod bounds;
mod claude;
mod credentials;
mod faults;
mod kit;
mod passing;
mod scripted;
mod usage;
