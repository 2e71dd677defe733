//! hived, the broker: see ARCHITECTURE.md for the map.

pub mod bind;
pub mod clock;
pub mod config;
pub mod dirs;
pub mod gateway;
pub mod lock;
pub mod logging;
pub mod model;
pub mod paths;
pub mod runtime;
pub mod shutdown;
pub mod sockets;
pub mod store;
pub mod wakers;
