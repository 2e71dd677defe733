//! The `docker` runtime: one container an agent, without network, with nothing but its own mounts.
//!
//! Containers outlive the broker and are found again by their labels. The engine may be away when the
//! broker starts: it is addressed anew for as long as it does not answer.

mod adapter;
mod errors;
#[cfg(test)]
#[path = "fixture_tests.rs"]
mod fixture;
mod mounts;
mod request;
mod summary;

pub use adapter::Docker;
