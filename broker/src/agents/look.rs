//! One look at the runtime, told to every agent; what belongs to no agent is ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hive_proto::ids::AgentId;
use tracing::warn;

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
        let by_agent: HashMap<AgentId, &Instance> = instances
            .iter()
            .map(|instance| (instance.agent_id, instance))
            .collect();
        for row in rows {
            self.drive(row);
        }
        let mut orphans = 0;
        for instance in instances {
            if self.0.fleet.get(instance.agent_id).is_none() {
                orphans += 1;
                self.adopt_or_end(instance).await?;
            }
        }
        for handle in self.0.fleet.all() {
            let look = match by_agent.get(&handle.id) {
                Some(instance) => Look::There(instance),
                None => Look::Absent,
            };
            handle.observe(&look, taken);
        }
        Ok(orphans)
    }

    /// A removed agent's instance gets a driver that finishes the removal; one of an agent that this
    /// database never had can serve nobody.
    async fn adopt_or_end(&self, instance: &Instance) -> Result<(), StoreError> {
        let id = instance.agent_id;
        if let Some(row) = self.0.store.read(move |conn| table::get(conn, id)).await? {
            self.drive(&row);
            return Ok(());
        }
        warn!(agent.name = %instance.name, runtime.id = %instance.id,
            "ending what belongs to no agent of this hive");
        let (inner, runtime_id) = (Arc::clone(&self.0), instance.id.clone());
        self.0.tasks.spawn("agents.orphan", async move {
            let ended = async {
                inner.runtime.stop(&runtime_id, Duration::ZERO).await?;
                inner.runtime.remove(&runtime_id).await
            };
            if let Err(error) = ended.await {
                warn!(runtime.id = %runtime_id, %error, "cannot end it; the next look tries again");
            }
        });
        Ok(())
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
