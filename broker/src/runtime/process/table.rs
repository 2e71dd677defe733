//! What the `process` runtime knows of its instances: one entry an agent, by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use tokio::sync::watch;

use super::log::LogFile;
use super::scan::{self, MARK_AGENT, MARK_HIVE, MARK_ID, MARK_SPEC, Seen};
use crate::runtime::{Exit, Instance, Spec, Status};

/// Log size of an adopted process, whose limits are not known.
const ADOPTED_LOG: (i64, i64) = (10_000_000, 3);

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) agent_id: AgentId,
    pub(super) hash: String,
    /// None for an adopted process: it is forgotten when it ends.
    pub(super) spec: Option<Spec>,
    pub(super) state: State,
    pub(super) log: Arc<LogFile>,
}

#[derive(Debug)]
pub(super) enum State {
    Made,
    Running(Running),
    Exited { id: String, exit: Exit },
}

#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) leader: Seen,
    /// Becomes true once it and all that it left behind are gone.
    pub(super) ended: watch::Receiver<bool>,
}

#[derive(Debug, Default)]
pub(super) struct Table(pub(super) BTreeMap<AgentName, Entry>);

// === impl Entry ===

impl Entry {
    pub(super) fn made(spec: &Spec, hash: &str) -> Self {
        let limits = spec.limits;
        Self {
            agent_id: spec.agent_id,
            hash: hash.to_owned(),
            spec: Some(spec.clone()),
            state: State::Made,
            log: Arc::new(LogFile::new(
                &spec.mounts.harness,
                limits.log_bytes,
                limits.log_files,
            )),
        }
    }

    pub(super) fn id(&self, name: &AgentName) -> String {
        match &self.state {
            State::Made => format!("new:{name}"),
            State::Running(running) => running.id(),
            State::Exited { id, .. } => id.clone(),
        }
    }

    fn status(&self) -> Status {
        match &self.state {
            State::Made => Status::Created,
            State::Running(_) => Status::Running,
            State::Exited { exit, .. } => Status::Exited(exit.clone()),
        }
    }
}

// === impl Running ===

impl Running {
    pub(super) fn id(&self) -> String {
        format!("{}:{}", self.leader.pid, self.leader.started)
    }
}

// === impl Table ===

impl Table {
    /// The name that an id belongs to; ids of a run that is over still find their agent.
    pub(super) fn name_of(&self, id: &str) -> Option<AgentName> {
        if let Some(name) = id.strip_prefix("new:") {
            let name: AgentName = name.parse().ok()?;
            return self.0.contains_key(&name).then_some(name);
        }
        let found = self.0.iter().find(|(name, entry)| entry.id(name) == id);
        found.map(|(name, _)| name.clone())
    }

    pub(super) fn instances(&self) -> Vec<Instance> {
        let instance = |(name, entry): (&AgentName, &Entry)| Instance {
            id: entry.id(name),
            name: name.clone(),
            agent_id: entry.agent_id,
            status: entry.status(),
            spec_hash: entry.hash.clone(),
            hive: None,
        };
        self.0.iter().map(instance).collect()
    }
}

/// A harness of this hive that runs although this broker did not start it.
pub(super) struct Found {
    pub(super) name: AgentName,
    pub(super) agent_id: AgentId,
    pub(super) hash: String,
    pub(super) leader: Seen,
    pub(super) log: Arc<LogFile>,
}

/// Looks for harnesses that an earlier broker started.
pub(super) fn find(hive: &str) -> Vec<Found> {
    scan::processes()
        .into_iter()
        .filter(scan::is_harness)
        .filter_map(|leader| {
            let env = scan::environment(leader.pid);
            if env.get(MARK_HIVE).map(String::as_str) != Some(hive) {
                return None;
            }
            let (bytes, files) = ADOPTED_LOG;
            let folder = env.get("HIVE_HARNESS_DIR")?;
            Some(Found {
                name: env.get(MARK_AGENT)?.parse().ok()?,
                agent_id: AgentId(env.get(MARK_ID)?.parse().ok()?),
                hash: env.get(MARK_SPEC).cloned().unwrap_or_default(),
                leader,
                log: Arc::new(LogFile::new(Path::new(folder), bytes, files)),
            })
        })
        .collect()
}
