//! hive-tests: the kit that the end-to-end and crash tests share, and the tidy check.
//!
//! - [`hive`]: a whole hive in a temporary directory; [`builder`]: what it is made of
//! - [`clocked`]: one in this process, by a clock that the test moves
//! - [`client`], [`session`], [`command`]: its public API: sockets, a harness by hand, the `hive` command
//! - [`mail`]: sending, answers and lives of messages in one line each
//! - [`daemon`], [`docker`], [`strace`]: processes, containers and system calls from outside;
//!   [`proxy`]: a socket that can be cut
//! - [`receiver`]: whom webhooks go to, failing in chosen ways
//! - [`ledger`]: what was promised and what came of it; [`load`]: senders and a receiver that fill it
//! - [`claude`]: the real engine on a bench, without a broker
//! - [`conformance`]: what every implementation of a seam must do
//! - [`wait`]: deadlines; [`normalise`]: comparable output; [`programs`]: where the programs lie
//! - [`tidy`]: rules about the source text

pub mod builder;
pub mod claude;
pub mod client;
pub mod clocked;
pub mod command;
pub mod conformance;
pub mod daemon;
pub mod docker;
pub mod engine;
pub mod hive;
pub mod ledger;
pub mod load;
pub mod mail;
pub mod normalise;
pub mod programs;
pub mod proxy;
pub mod receiver;
pub mod session;
pub mod strace;
pub mod stranger;
pub mod tidy;
pub mod wait;

pub use builder::{Runtime, Setup};
pub use hive::TestHive;
pub use session::Session;
