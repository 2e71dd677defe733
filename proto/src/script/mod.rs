//! The rules that stand in for a model: played by the scripted engine in the harness and, as the
//! Messages API, by the scripted upstream in the gateway. The format is documented in
//! docs/scripts.md.
//!
//! - [`Script::parse`] reads a file strictly and reports every fault with its line
//! - [`Script::pick`] finds the rule that answers a message
//! - [`Values`] fills the placeholders of its steps

mod faults;
mod play;
mod read;
mod rules;
mod steps;
mod template;

pub use faults::{Fault, Faults};
pub use play::{Incoming, Play, Seen, Values};
pub use rules::{Act, Args, Crash, Ending, Failure, Rule, Script, Step};
pub use template::Template;
