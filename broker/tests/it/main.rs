//! Integration tests of the broker's services on a real store, through the crate's public API.

mod events;
mod inbox;
mod kit;
mod model;
mod reconcile;
mod recv;
mod sessions;
mod turns;
