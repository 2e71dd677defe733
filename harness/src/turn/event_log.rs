//! The engine's events in the log, without any text of a conversation.

use std::sync::Arc;

use tracing::info;

use crate::engine::{EngineEvent as E, EventSink};

/// Logs what an engine does, without any text of it.
pub(super) fn log_events() -> EventSink {
    Arc::new(|event| match event {
        E::SessionStarted { session, model } => {
            info!(engine.session = %session, engine.model = %model, "engine session");
        }
        E::ToolStart { name, .. } => info!(tool.name = %name, "tool"),
        E::Retry { attempt, why } => info!(attempt, %why, "the engine tries again"),
        E::Compacting => info!("compacting"),
        E::Compacted => info!("compacted"),
        E::Notice(text) => info!(notice = %text, "engine notice"),
        E::ToolEnd { .. } | E::Text(_) | E::Raw(_) => {}
    })
}
