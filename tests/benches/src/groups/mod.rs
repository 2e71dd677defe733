//! One group of figures a file.

pub mod containers;
pub mod daemon;
pub mod fleet;
pub mod gateway;
pub mod growth;
pub mod harness;
pub mod idle;
pub mod instructions;
pub mod send;
pub mod turn;
