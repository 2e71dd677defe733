//! What every implementation of a seam must do, run on each of them.

mod runtime;

pub use runtime::{Bench, all as runtime};
