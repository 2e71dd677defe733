//! The harness against a broker that the test plays: the real `hive` program over a real socket.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod fake;
mod forwarder;
mod harness;
mod mcp;
mod proc;
mod serve;
mod session;
