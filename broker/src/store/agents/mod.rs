//! The `agents` table: what is wanted of each agent and what is recorded of it; a removed one stays.

mod birth;
mod change;
mod queries;
mod row;

pub use birth::{insert, revive};
pub use change::{
    ask_restart, begin_restart, note_state, record_restart, set_desired, set_failed, set_instance,
    set_paused, set_removed, set_status,
};
pub use queries::{find, find_removed, get, list};
pub use row::{AgentRow, Desired, NewAgent, Pause, Removal};
