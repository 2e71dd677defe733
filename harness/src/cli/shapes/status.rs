//! The hive itself as a JSON document.

use std::collections::BTreeMap;

use hive_proto::v1;
use serde::Serialize;

use super::super::when;
use super::absent::{id, text};

/// The hive itself.
#[derive(Debug, Serialize)]
pub(in super::super) struct Status {
    version: String,
    home: String,
    run: String,
    listen: Option<String>,
    store: Store,
    runtime: String,
    runtime_error: Option<String>,
    unisolated: bool,
    rehearsal: bool,
    uptime_seconds: u64,
    /// Number of agents by state.
    agents: BTreeMap<String, u32>,
    waiting: Vec<Waiting>,
    reconcilers: Vec<Reconciler>,
    log_lines_lost: u64,
}

#[derive(Debug, Serialize)]
struct Store {
    schema: u32,
    bytes: u64,
    sqlite_version: String,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Waiting {
    kind: String,
    agent: Option<String>,
    id: Option<i64>,
    since: Option<String>,
    text: String,
}

#[derive(Debug, Serialize)]
struct Reconciler {
    name: String,
    last_run_at: Option<String>,
    duration_ms: u32,
    summary: Option<String>,
    error: Option<String>,
}

// === impl Status ===

impl From<&v1::HiveStatus> for Status {
    fn from(status: &v1::HiveStatus) -> Self {
        let store = status.store.clone().unwrap_or_default();
        let counts = status.agents.iter();
        Self {
            version: status.version.clone(),
            home: status.home.clone(),
            run: status.run.clone(),
            listen: text(&status.listen),
            store: Store {
                schema: store.schema,
                bytes: store.bytes,
                sqlite_version: store.sqlite_version,
                error: text(&store.error),
            },
            runtime: status.runtime.clone(),
            runtime_error: text(&status.runtime_error),
            unisolated: status.unisolated,
            rehearsal: status.rehearsal,
            uptime_seconds: status.uptime_secs,
            agents: counts.map(|c| (c.state.clone(), c.count)).collect(),
            waiting: status.waiting.iter().map(Waiting::from).collect(),
            reconcilers: status.reconcilers.iter().map(Reconciler::from).collect(),
            log_lines_lost: status.lost_log_lines,
        }
    }
}

impl From<&v1::Waiting> for Waiting {
    fn from(waiting: &v1::Waiting) -> Self {
        Self {
            kind: waiting.kind.clone(),
            agent: text(&waiting.agent),
            id: id(waiting.id),
            since: when::json(waiting.since_ms),
            text: waiting.text.clone(),
        }
    }
}

impl From<&v1::ReconcilerStatus> for Reconciler {
    fn from(reconciler: &v1::ReconcilerStatus) -> Self {
        Self {
            name: reconciler.name.clone(),
            last_run_at: when::json(reconciler.last_run_ms),
            duration_ms: reconciler.duration_ms,
            summary: text(&reconciler.summary),
            error: text(&reconciler.error),
        }
    }
}
