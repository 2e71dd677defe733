//! The broker's door to models: an agent has no network, its model calls end here.
//!
//! ```text
//! engine ─ 127.0.0.1 ─ forwarder ─ gateway.sock ─ serve ─ door ┬ upstream ─ the configured server
//!                                                              └ scripted ─ a script file
//! ```
//!
//! The agent's own credentials stop at the door, the real key is added behind it. Bodies stream both
//! ways untouched; the meter reads the usage on the side.
//!
//! - [`serve_agent`]: HTTP on one agent's socket, with its bounds
//! - [`Gateway`]: routes a call, shared by all agents
//! - [`recorder`]: one event a model call
//! - [`scripted`]: the Messages API played from a script

mod body;
mod credential;
mod door;
mod headers;
mod limited;
mod meter;
mod metered;
mod record;
mod refuse;
mod routes;
pub mod scripted;
mod serve;
mod settings;
mod upstream;

pub use door::{Caller, Gateway, GatewayError};
pub use meter::Tokens;
pub use metered::{Ended, ModelCall, UsageSink};
pub use record::recorder;
/// An absolute URL, as [`Target`] takes it.
pub use reqwest::Url;
pub use serve::serve_agent;
pub use settings::{Credential, KeyHeader, Limits, Settings, Target};
