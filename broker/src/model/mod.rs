//! Pure lifecycles: what is legal and what follows from what. No I/O, no clock, no SQL.

pub mod admission;
pub mod agent;
pub mod approval;
pub mod concern;
pub mod disk;
pub mod event;
pub mod message;
pub mod notification;
pub mod outcome;
pub mod question;
pub mod reminder;
pub mod restart;
pub mod retention;
pub mod retry;
pub mod rights;
pub mod schedule;
pub mod session;
pub mod shown;
