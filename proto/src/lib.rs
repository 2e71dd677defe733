//! hive.v1: the generated wire types, and the few words that both sides must spell alike.
//!
//! - [`v1`]: generated from `hive/v1/*.proto`; [`methods`]: what they list, as data
//! - [`hidden`]: characters that steer a terminal or a reader's eye
//! - [`ids`]: one newtype for each kind of number
//! - [`name`]: agent names, recipients and wake labels, checked before anything is built from them
//! - [`reason`]: the one table reason → gRPC code, HTTP status, exit code, hint
//! - [`limits`]: numbers that both sides keep
//! - [`mail`]: how a delivered message is spelled for a model, and read back
//! - [`script`]: the rules that the scripted engine and the scripted upstream both play
//! - [`words`]: enum ⇄ the words shown and stored

/// Generated from `hive/v1/*.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]
pub mod v1 {
    tonic::include_proto!("hive.v1");
}

pub mod hidden;
pub mod ids;
pub mod limits;
pub mod mail;
pub mod methods;
pub mod name;
pub mod reason;
pub mod script;
pub mod words;

pub use limits::LEVEL;
pub use reason::Refusal;

/// Version of hive, the same for both programs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
