//! The engine `scripted`: plays rules (docs/scripts.md) instead of asking a model, so that a hive can
//! be rehearsed.
//!
//! - [`engine`]: finds the rule that answers, or tells the sender that this is a rehearsal
//! - [`play`]: plays the steps of a rule
//! - [`shell`]: a command line of a script

mod engine;
mod play;
mod shell;

pub use engine::Scripted;
