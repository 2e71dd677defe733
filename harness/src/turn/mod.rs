//! One turn after another.
//!
//! - [`state`]: what the harness is doing, as a pure function of what happened
//! - [`runner`]: the loop: ask for a message, run a turn, settle it
//! - [`waiting`]: what happens between two turns
//! - [`settle`]: one turn run under the eyes of broker and operator, and settled
//! - [`drive`]: one turn on the engine, with its one compaction or new session
//! - [`event_log`]: the engine's events in the log
//! - [`current`]: the open turn as the tools see it
//! - [`prompt`]: the wake prompt
//! - [`spill`]: long bodies into files
//! - [`park`]: how long a park lasts
//! - [`login`]: the end of a `needs_login` park
//! - [`system_prompt`]: `prompts/system.md` with the agent's role

mod current;
mod drive;
mod event_log;
mod login;
mod park;
mod prompt;
mod runner;
mod settle;
mod spill;
mod state;
mod system_prompt;
mod waiting;

pub use current::{CurrentTurn, NextTurn, OpenTurn};
pub use login::DirSnapshot;
pub use prompt::{Body, Wake, wake};
pub use runner::{Finish, Runner};
pub use spill::spill;
pub use state::{Happened, Illegal, Park, ParkKind, State, Wish};
pub use system_prompt::{Identity, render};
