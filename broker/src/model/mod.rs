//! Pure lifecycles: what is legal and what follows from what. No I/O, no clock, no SQL.

pub mod event;
pub mod message;
pub mod outcome;
pub mod retry;
pub mod session;
