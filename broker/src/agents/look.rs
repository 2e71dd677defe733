//! One look at the runtime, told to every agent; what belongs to no agent is ended.

use std::collections::HashMap;
use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;

use super::binary;
use super::memory::{Look, Taken};
use super::service::{Agents, Inner};
use crate::runtime::{Instance, RuntimeError, Status};
use crate::store::StoreError;
use crate::store::agents::{self as table, AgentRow};

/// A runtime that takes longer is as good as silent: with the reconciler's period this keeps the
/// shown states within two seconds of the truth.
const LIMIT: Duration = Duration::from_millis(1200);

/// What a look found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) running: usize,
    /// Made or ended.
    pub(crate) resting: usize,
    /// Of agents that are not there any more.
    pub(crate) orphans: usize,
}

// === impl Agents ===

impl Agents {
    /// Looks once. That the runtime cannot be asked is a finding, not a failure.
    pub(crate) async fn look(&self) -> Result<Result<Seen, RuntimeError>, StoreError> {
        let inner = &self.0;
        let began = inner.clock.monotonic();
        let listed = match tokio::time::timeout(LIMIT, inner.runtime.list()).await {
            Ok(listed) => listed,
            Err(_) => Err(RuntimeError::Unavailable {
                runtime: inner.runtime.name(),
                why: format!("no answer within {LIMIT:?}"),
            }),
        };
        let taken = Taken {
            began,
            now: inner.clock.monotonic(),
            wall: inner.clock.now(),
        };
        let instances = match listed {
            Ok(instances) => instances,
            Err(error) => {
                let why = error.to_string();
                for handle in inner.fleet.all() {
                    handle.observe(&Look::Unknown(&why), taken);
                }
                return Ok(Err(error));
            }
        };
        let rows = inner.store.read(table::list).await?;
        let orphans = self.tell(&rows, &instances, taken).await?;
        inner.prune_binaries(&instances);
        let running = instances
            .iter()
            .filter(|instance| matches!(instance.status, Status::Running | Status::Frozen))
            .count();
        Ok(Ok(Seen {
            running,
            resting: instances.len() - running,
            orphans,
        }))
    }

    /// Tells every driver, and sees to what has none; says how many those were.
    async fn tell(
        &self,
        rows: &[AgentRow],
        instances: &[Instance],
        taken: Taken,
    ) -> Result<usize, StoreError> {
        for row in rows {
            self.drive(row);
        }
        let (mut orphans, mut unknown) = (0, Vec::new());
        for instance in instances {
            if !self.is_driven(instance) {
                orphans += 1;
                if !self.adopt(instance).await? {
                    unknown.push(instance.clone());
                }
            }
        }
        // By name, too: after the restore of a backup a number may have been given anew.
        let by_agent: HashMap<(AgentId, &AgentName), &Instance> = instances
            .iter()
            .map(|instance| ((instance.agent_id, &instance.name), instance))
            .collect();
        for handle in self.0.fleet.all() {
            let look = match by_agent.get(&(handle.id, &handle.name)) {
                Some(instance) => Look::There(instance),
                None => Look::Absent,
            };
            handle.observe(&look, taken);
        }
        self.0.end_orphans(unknown).await?;
        Ok(orphans)
    }

    fn is_driven(&self, instance: &Instance) -> bool {
        let handle = self.0.fleet.get(instance.agent_id);
        handle.is_some_and(|handle| handle.name == instance.name)
    }

    /// Gives a removed agent's instance a driver that finishes the removal; false: this database does
    /// not know the agent.
    async fn adopt(&self, instance: &Instance) -> Result<bool, StoreError> {
        let id = instance.agent_id;
        let row = self.0.store.read(move |conn| table::get(conn, id)).await?;
        let known = row.filter(|row| row.name == instance.name);
        if let Some(row) = &known {
            self.drive(row);
        }
        Ok(known.is_some())
    }
}

// === impl Inner ===

impl Inner {
    /// Once a broker's life: deletes copies of `hive` that nothing runs.
    fn prune_binaries(&self, instances: &[Instance]) {
        if !self.runtime.isolated() || self.pruned.set(()).is_err() {
            return;
        }
        let mut used: Vec<_> = instances
            .iter()
            .filter_map(|instance| instance.hive.clone())
            .collect();
        used.push(self.settings.hive.clone());
        binary::prune(&self.settings.paths.bin(), &used);
    }
}
