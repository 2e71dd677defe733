//! Agents: what the operator asks of them, one driver task each, and what is known of each.
//!
//! A request is admitted (`model/admission.rs`), recorded, and that is its answer. The driver then
//! works towards what is recorded, one step at a time (`model/agent.rs`): a crash of the daemon at any
//! point loses nothing, because the next look at the runtime shows what is left to do.
//!
//! After a restart that followed a death or that the operator asked for, a model-driven agent gets one
//! line from `system`, so that it looks at what it was doing. Not at its first start and not after a
//! reboot of the host: that would burn a turn of every agent for nothing. The scripted engine has
//! nothing to remember and gets none.

mod binary;
mod create;
mod driver;
mod error;
mod failure;
mod fleet;
mod identity;
mod look;
mod memory;
mod orphans;
mod own;
mod place;
mod purge;
mod requests;
mod rights;
mod service;
mod settings;
mod spec;
mod steps;
mod story;
mod view;

pub use binary::BinaryError;
pub use create::{CreateAgent, Parent};
pub(crate) use service::CONTAINERS;

pub use error::AgentsError;
pub use identity::{IdentityError, hive_id};
pub use requests::Haste;
pub use rights::{AskedRecipients, AskedRights, ShownRights};
pub use service::{Agents, Parts};
pub use settings::Settings;
pub use view::AgentView;

pub use crate::store::agents::Removal;
