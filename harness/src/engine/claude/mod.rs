//! The engine `claude`: the real Claude Code, kept as a long-lived stream-json process.

mod engine;

pub use engine::Claude;
