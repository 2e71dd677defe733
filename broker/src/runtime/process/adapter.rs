//! The seam's implementation: creates, starts, ends and lists plain children.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use rustix::process::Signal;
use tokio::sync::{OnceCell, broadcast, watch};
use tokio_stream::wrappers::BroadcastStream;
use tracing::{info, warn};

use super::spawner::Spawner;
use super::table::{Entry, Running, State, Table};
use super::{command, scan, table, tree, watcher};
use crate::runtime::{Changed, Instance, LogOptions, Runtime, RuntimeError, Spec};
use crate::shutdown::Tasks;

const NAME: &str = "process";
/// The engine that needs no isolation: it does what its script says and nothing else.
const HARMLESS: &str = "scripted";
/// How long a killed tree may take to be reaped.
const REAP: Duration = Duration::from_secs(10);
/// Changes that a slow reader may fall behind; a missed one is found by polling.
const CHANGES: usize = 256;

/// Which engines may run without isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    ScriptedOnly,
    /// hive.toml says `runtime.process.trusted = true`.
    Everything,
}

/// Plain children of this process.
#[derive(Clone, Debug)]
pub struct Process(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) hive: String,
    trust: Trust,
    pub(super) tasks: Tasks,
    spawner: Spawner,
    table: Mutex<Table>,
    changed: broadcast::Sender<Changed>,
    adopted: OnceCell<()>,
}

// === impl Process ===

impl Process {
    /// # Errors
    /// When the thread that forks cannot be made.
    pub fn new(hive_id: String, trust: Trust, tasks: Tasks) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner {
            hive: hive_id,
            trust,
            tasks,
            spawner: Spawner::new()?,
            table: Mutex::default(),
            changed: broadcast::Sender::new(CHANGES),
            adopted: OnceCell::new(),
        })))
    }

    /// Takes over, once, what an earlier broker started and what still runs.
    async fn adopt(&self) {
        self.0
            .adopted
            .get_or_init(|| async {
                for found in table::find(&self.0.hive) {
                    info!(agent.name = %found.name, pid = found.leader.pid, "adopted a running harness");
                    watcher::adopt(self, found);
                }
            })
            .await;
    }

    async fn launch(&self, spec: &Spec, hash: &str) -> Result<(), RuntimeError> {
        let name = &spec.name;
        let left = tree::kill(&self.0.hive, name.as_str(), None).await;
        if left > 0 {
            warn!(agent.name = %name, processes = left, "ended what an earlier harness left behind");
        }
        let child = self.0.spawner.spawn(command::command(spec, hash)).await;
        let child = child.map_err(|error| {
            RuntimeError::Failed(format!("cannot start {}: {error}", spec.hive.display()))
        })?;
        watcher::watch(self, spec, child);
        Ok(())
    }

    fn running(&self, id: &str) -> Result<Option<(String, Running)>, RuntimeError> {
        let table = self.0.table();
        let Some(name) = table.name_of(id) else {
            return Err(RuntimeError::NotFound(id.to_owned()));
        };
        Ok(match table.0.get(&name).map(|entry| &entry.state) {
            Some(State::Running(running)) => Some((name.to_string(), running.clone())),
            Some(State::Made | State::Exited { .. }) | None => None,
        })
    }
}

// === impl Inner ===

impl Inner {
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, changed: Changed) {
        // Nobody listens: the next look finds it.
        let _ = self.changed.send(changed);
    }
}

#[async_trait::async_trait]
impl Runtime for Process {
    fn name(&self) -> &'static str {
        NAME
    }

    fn isolated(&self) -> bool {
        false
    }

    fn spec_hash(&self, spec: &Spec) -> String {
        let made_from = (&spec.hive, &spec.mounts, &spec.env);
        crate::runtime::digest(format!("{made_from:?}"))
    }

    async fn create(&self, spec: &Spec) -> Result<String, RuntimeError> {
        if self.0.trust == Trust::ScriptedOnly && spec.engine != HARMLESS {
            return Err(RuntimeError::Refused(format!(
                "the process runtime isolates nothing and runs the engine {HARMLESS} only, not {}",
                spec.engine
            )));
        }
        self.adopt().await;
        let hash = self.spec_hash(spec);
        let mut table = self.0.table();
        if let Some(entry) = table.0.get(&spec.name) {
            let same = entry.agent_id == spec.agent_id && entry.hash == hash;
            if same {
                return Ok(entry.id(&spec.name));
            }
            return Err(RuntimeError::NameTaken(format!("the agent {}", spec.name)));
        }
        let entry = Entry::made(spec, &hash);
        let id = entry.id(&spec.name);
        table.0.insert(spec.name.clone(), entry);
        Ok(id)
    }

    async fn start(&self, id: &str) -> Result<(), RuntimeError> {
        let (spec, hash) = {
            let table = self.0.table();
            let name = table.name_of(id);
            let entry = name.and_then(|name| table.0.get(&name));
            let entry = entry.ok_or_else(|| RuntimeError::NotFound(id.to_owned()))?;
            match (&entry.state, &entry.spec) {
                (State::Running(_), _) => return Ok(()),
                (_, Some(spec)) => (spec.clone(), entry.hash.clone()),
                (_, None) => return Err(RuntimeError::NotFound(id.to_owned())),
            }
        };
        self.launch(&spec, &hash).await
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), RuntimeError> {
        let Some((name, mut running)) = self.running(id)? else {
            return Ok(());
        };
        let leader = running.leader.clone();
        if !grace.is_zero() {
            tree::signal(&leader, Signal::TERM);
            if ended(&mut running.ended, grace).await {
                return Ok(());
            }
        }
        tree::kill(&self.0.hive, &name, Some(&leader)).await;
        if ended(&mut running.ended, REAP).await {
            return Ok(());
        }
        Err(RuntimeError::Failed(format!(
            "process {} does not end",
            leader.pid
        )))
    }

    async fn remove(&self, id: &str) -> Result<(), RuntimeError> {
        let known = self.0.table().name_of(id).is_some();
        if !known {
            return Ok(());
        }
        self.stop(id, Duration::ZERO).await?;
        let mut table = self.0.table();
        if let Some(name) = table.name_of(id) {
            table.0.remove(&name);
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Instance>, RuntimeError> {
        if !scan::available() {
            return Err(RuntimeError::Unavailable {
                runtime: NAME,
                why: "/proc is not mounted".into(),
            });
        }
        self.adopt().await;
        Ok(self.0.table().instances())
    }

    async fn logs(
        &self,
        id: &str,
        options: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RuntimeError>>, RuntimeError> {
        let log = {
            let table = self.0.table();
            let name = table.name_of(id);
            let entry = name.and_then(|name| table.0.get(&name));
            let entry = entry.ok_or_else(|| RuntimeError::NotFound(id.to_owned()))?;
            Arc::clone(&entry.log)
        };
        let (tail, after) = log
            .follow(options.tail)
            .map_err(|error| RuntimeError::Failed(format!("cannot read the log: {error}")))?;
        let tail = stream::iter(tail.into_iter().map(Ok));
        if !options.follow {
            return Ok(tail.boxed());
        }
        // A follower that fell behind misses lines; the file has them.
        let after = BroadcastStream::new(after).filter_map(|line| async { line.ok().map(Ok) });
        Ok(tail.chain(after).boxed())
    }

    async fn events(&self) -> Result<BoxStream<'static, Changed>, RuntimeError> {
        let changes = BroadcastStream::new(self.0.changed.subscribe());
        Ok(changes.filter_map(|change| async { change.ok() }).boxed())
    }
}

/// Whether it ended within `limit`.
async fn ended(flag: &mut watch::Receiver<bool>, limit: Duration) -> bool {
    // A sender that is gone without the flag belongs to a shutdown: the child dies with it.
    let wait = flag.wait_for(|ended| *ended);
    matches!(tokio::time::timeout(limit, wait).await, Ok(Ok(_)))
}
