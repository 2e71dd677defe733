//! The service: what it works with, the drivers that it starts, and what it hears of the runtime.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use hive_proto::name::AgentName;
use tracing::debug;

use super::driver;
use super::error::AgentsError;
use super::fleet::Fleet;
use super::orphans::Orphans;
use super::settings::Settings;
use crate::clock::Clock;
use crate::model::agent::Held;
use crate::reconcile::Reconcilers;
use crate::runtime::{LogOptions, Runtime};
use crate::sessions::Sessions;
use crate::shutdown::Tasks;
use crate::sockets::Sockets;
use crate::store::agents::{self as table, AgentRow};
use crate::store::{Conn, Store, StoreError, purges};
use crate::topology;

/// The reconciler that looks at the runtime.
pub(crate) const CONTAINERS: &str = "containers";
/// Before the runtime's events are asked for again. Short: what ends while none listens counts as its own end.
const EVENTS_AGAIN: Duration = Duration::from_millis(100);

/// The agents service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Agents(pub(super) Arc<Inner>);

/// What the service works with.
#[derive(Debug)]
pub struct Parts {
    pub settings: Settings,
    pub store: Store,
    pub clock: Clock,
    pub tasks: Tasks,
    pub sessions: Sessions,
    pub sockets: Sockets,
    pub runtime: Arc<dyn Runtime>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) settings: Settings,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) tasks: Tasks,
    pub(super) sessions: Sessions,
    pub(super) sockets: Sockets,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) fleet: Fleet,
    reconcilers: OnceLock<Reconcilers>,
    pub(super) pruned: OnceLock<()>,
    pub(super) orphans: Orphans,
}

// === impl Agents ===

impl Agents {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            settings: parts.settings,
            store: parts.store,
            clock: parts.clock,
            tasks: parts.tasks,
            sessions: parts.sessions,
            sockets: parts.sockets,
            runtime: parts.runtime,
            fleet: Fleet::default(),
            reconcilers: OnceLock::new(),
            pruned: OnceLock::new(),
            orphans: Orphans::default(),
        }))
    }

    /// Starts a driver for every agent and listens to the runtime. `reconcilers` has
    /// `reconcile::Containers` among them; nothing is done to an agent before its first run.
    ///
    /// # Errors
    /// When the agents cannot be read.
    pub async fn start(&self, reconcilers: Reconcilers) -> Result<(), AgentsError> {
        // Started twice: the first one's stay.
        let _ = self.0.reconcilers.set(reconcilers);
        self.0.sessions.restore().await?;
        for row in self.0.store.read(to_drive).await? {
            self.drive(&row);
        }
        let inner = Arc::clone(&self.0);
        let stopping = inner.tasks.stopping();
        self.0.tasks.spawn("agents.events", async move {
            tokio::select! {
                () = stopping.cancelled() => {}
                () = inner.listen() => {}
            }
        });
        Ok(())
    }

    /// The harness's log, oldest line first.
    ///
    /// # Errors
    /// An unknown agent or one that never ran, the runtime's failure.
    pub async fn logs(
        &self,
        name: &str,
        options: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, AgentsError>>, AgentsError> {
        let row = self.row(name).await?;
        let id = self
            .0
            .fleet
            .get(row.id)
            .map(|handle| handle.memory().runtime_id.clone())
            .unwrap_or_default();
        if id.is_empty() {
            return Err(AgentsError::NeverRan(row.name.to_string()));
        }
        let lines = self.0.runtime.logs(&id, options).await?;
        Ok(lines.map(|line| line.map_err(AgentsError::from)).boxed())
    }

    /// The living agent of that name.
    pub(super) async fn row(&self, name: &str) -> Result<AgentRow, AgentsError> {
        let unknown = || AgentsError::Unknown(name.chars().take(40).collect());
        let parsed: AgentName = name.parse().map_err(|_| unknown())?;
        let found = self
            .0
            .store
            .read(move |conn| table::find(conn, &parsed))
            .await?;
        found.ok_or_else(unknown)
    }

    /// Gives an agent its driver, if it has none.
    pub(crate) fn drive(&self, row: &AgentRow) {
        self.drive_from(row, Held::Unknown);
    }

    /// The same, with what is known of it.
    pub(super) fn drive_from(&self, row: &AgentRow, held: Held) {
        let Some(handle) = self.0.fleet.add(row.id, &row.name, held) else {
            return;
        };
        debug!(agent.name = %row.name, "driven");
        self.0
            .tasks
            .spawn("agent", driver::run(Arc::clone(&self.0), handle));
        self.0.look_soon();
    }
}

/// Every living agent, and those whose purge an earlier broker did not finish.
fn to_drive(conn: &Conn) -> Result<Vec<AgentRow>, StoreError> {
    let mut rows = table::list(conn)?;
    for purge in purges::unfinished(conn)? {
        rows.extend(table::get(conn, purge.agent)?);
    }
    Ok(rows)
}

// === impl Inner ===

impl Inner {
    /// Has the runtime looked at soon.
    pub(super) fn look_soon(&self) {
        if let Some(reconcilers) = self.reconcilers.get() {
            reconcilers.nudge(CONTAINERS);
        }
    }

    /// The name of the agent's parent now, or `operator`.
    pub(super) async fn parent_name(&self, row: &AgentRow) -> Result<String, StoreError> {
        let id = row.id;
        let parent = self.store.read(move |conn| topology::parent(conn, id));
        Ok(parent.await?.name)
    }

    /// Turns the runtime's events into looks, for ever.
    async fn listen(&self) {
        loop {
            if let Ok(mut events) = self.runtime.events().await {
                while events.next().await.is_some() {
                    self.look_soon();
                }
                for handle in self.fleet.all() {
                    handle.runtime_left(self.clock.monotonic());
                }
            }
            // The stream ended: maybe everything changed meanwhile.
            self.look_soon();
            tokio::time::sleep(EVENTS_AGAIN).await;
        }
    }
}
