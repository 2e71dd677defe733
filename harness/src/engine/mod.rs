//! What runs a turn: `claude` or `scripted`, behind one seam.
//!
//! - [`seam`]: the trait that every engine implements, and what it can do
//! - [`turn`]: one turn's input, events and end
//! - [`env`]: what the harness offers an engine
//! - [`workshop`]: makes the engine that an agent's configuration names
//! - [`claude`], [`scripted`]: the engines
//! - [`install`], [`installed`]: engines as files on the host

pub mod claude;
mod env;
pub mod install;
pub mod installed;
mod scripted;
mod seam;
mod turn;
mod workshop;

pub use env::EngineEnv;
pub use scripted::Scripted;
pub use seam::{Caps, Engine};
pub use turn::{EngineEvent, EventSink, TurnEnd, TurnInput};
pub use workshop::Workshop;
