//! What hive is measured beside: brokers that one would take instead, and the floor below all of them.

pub mod echo;
pub mod floor;
pub mod hive;
pub mod nats;
pub mod postgres;
pub mod redis;
pub mod server;
