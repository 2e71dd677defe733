//! hive: the harness, the in-container helper and the operator's command: see ARCHITECTURE.md.

pub mod engine;
