//! Approvals: what agents ask for and a person decides. What is shown is what runs: the canonical
//! bytes of a request, bound by their SHA-256, carried out once by a reconciler.
//!
//! - [`canonical`]: the one spelling of a request
//! - [`Kind`]: what can be asked for; a new kind is a variant here, its payload and its effect
//! - `request`, `decide`: the acts, each one transaction
//! - `effect`: carrying out what was approved

mod canonical;
mod decide;
mod effect;
mod error;
mod kind;
mod request;
mod service;
mod tell;

pub use canonical::{NotCanonical, canonical, digest};
pub use decide::{By, Decision};
pub use effect::{Carrying, NotDone};
pub use error::ApprovalError;
pub use kind::Kind;
pub use request::{Asked, Request};
pub use service::Approvals;

pub(crate) use decide::{take_back, withdraw_of, withdraw_on};
pub(crate) use request::{replay, request};

pub use crate::store::approvals::{ApprovalRow, Listing};
