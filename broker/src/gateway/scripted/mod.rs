//! The Messages API answered from a script: real engines run end to end without a provider.
//!
//! Like a model's server it keeps no conversation. Which step comes next is worked out from the
//! request: the last prompt names the message and so the rule, and the id of the last tool result
//! behind it names the step that was done. Only `nth` and `times` are counted in memory.
//! See docs/scripts.md.

mod answer;
mod conversation;
mod events;
mod server;
mod standalone;
mod summary;
mod tools;

pub(in crate::gateway) use server::Cut;
pub use server::{Scripted, serve_standalone};
pub use standalone::{Standalone, StandaloneError};
