//! hived, the broker: see ARCHITECTURE.md for the map.

pub mod agents;
pub mod bind;
pub mod clock;
pub mod config;
pub mod dirs;
pub mod events;
pub mod gateway;
pub mod inbox;
pub mod lock;
pub mod logging;
pub mod model;
pub mod paths;
pub mod reconcile;
pub mod runtime;
pub mod sessions;
pub mod settle;
pub mod shutdown;
pub mod sockets;
pub mod store;
pub mod topology;
pub mod turns;
pub mod wakers;
