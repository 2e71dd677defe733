//! What can wait for the operator: one row a kind, in one table. `hive status` names all of them; those
//! with events that open them are also told off-screen (`notify/`).
//!
//! Adding a kind is adding a row: the events that open and close it, and the sentence that tells it.
//!
//! - `rule`: what a row holds, and what an event has to tell
//! - `table`: the rows
//! - `sentences`: what the operator reads

mod rule;
mod sentences;
mod table;

pub use rule::{Concern, Happening, Rule, Told, Urgency};
pub use table::{RULES, told};
