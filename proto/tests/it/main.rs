//! Scripts and mail through the public API.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod demo;
mod script;
