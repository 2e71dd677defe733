//! `hive.toml`: strict, every fault reported at once. See docs/hive-toml.md.

pub mod raw;
