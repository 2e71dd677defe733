//! The service: admits requests about agents, records them, and wakes their drivers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use tracing::debug;

use super::driver;
use super::error::AgentsError;
use super::fleet::Fleet;
use super::settings::Settings;
use super::view::AgentView;
use crate::clock::Clock;
use crate::model::admission::{Request, Standing, Verdict, admit};
use crate::model::agent::{Cause, Held};
use crate::reconcile::Reconcilers;
use crate::removal;
use crate::runtime::{LogOptions, Runtime};
use crate::sessions::{Directive, Sessions};
use crate::shutdown::Tasks;
use crate::sockets::Sockets;
use crate::store::agents::{self as table, AgentRow, Desired, Pause, Removal};
use crate::store::{Conn, Store, StoreError, purges};
use crate::topology;

/// The reconciler that looks at the runtime.
pub(crate) const CONTAINERS: &str = "containers";
/// Before the runtime's events are asked for again.
const EVENTS_AGAIN: Duration = Duration::from_secs(1);
/// How long a removal waits for the last step, beyond the grace; the driver goes on without it.
const REMOVAL: Duration = Duration::from_secs(20);

/// Whether a stop waits for the agent to end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// TERM, and ten seconds before KILL.
    Grace,
    /// KILL.
    Now,
}

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

    /// Starts it. Started already is success.
    ///
    /// # Errors
    /// An unknown agent, the store's failure.
    pub async fn start_agent(&self, name: &str) -> Result<AgentView, AgentsError> {
        let row = self.row(name).await?;
        if self.admit(&row, Request::Start)? == Verdict::Accept {
            self.want(&row, Desired::Running).await?;
            self.allow(&row);
        }
        self.shown_after(&row).await
    }

    /// Stops it; its mail waits. Answers once that is recorded: the state is `stopping` then.
    ///
    /// # Errors
    /// An unknown agent, the store's failure.
    pub async fn stop_agent(&self, name: &str, haste: Haste) -> Result<AgentView, AgentsError> {
        let row = self.row(name).await?;
        let request = match haste {
            Haste::Grace => Request::Stop,
            Haste::Now => Request::StopNow,
        };
        if self.admit(&row, request)? == Verdict::Accept {
            if haste == Haste::Now {
                self.hurry(row.id);
            }
            if row.desired == Desired::Running {
                self.want(&row, Desired::Stopped).await?;
            }
        }
        self.shown_after(&row).await
    }

    /// Stops it and starts it again, with the installed `hive` and its present configuration. Recorded:
    /// a broker that dies before that leaves it to the next one.
    ///
    /// # Errors
    /// An unknown or stopped agent, the store's failure.
    pub async fn restart_agent(&self, name: &str) -> Result<AgentView, AgentsError> {
        let row = self.row(name).await?;
        self.admit(&row, Request::Restart)?;
        let id = row.id;
        let handle = self.0.fleet.get(id);
        let held = handle.as_ref().map(|handle| handle.memory().held);
        match held {
            None | Some(Held::Running | Held::Frozen | Held::Unknown) => {
                let ask = self.0.store.write(move |tx| table::ask_restart(tx, id));
                ask.await?;
            }
            // Nothing is there to be stopped: it is started at once.
            Some(Held::Unseen | Held::Absent | Held::Made | Held::Exited) => {
                self.want(&row, Desired::Running).await?;
                if let Some(handle) = &handle {
                    handle.memory().cause = Cause::Fresh;
                }
            }
        }
        self.wake(id);
        self.shown_after(&row).await
    }

    /// Lets it begin no further turn; a running one goes on.
    ///
    /// # Errors
    /// An unknown, stopped or failed agent, the store's failure.
    pub async fn pause_agent(&self, name: &str) -> Result<AgentView, AgentsError> {
        self.set_pause(name, Request::Pause, Pause::Paused, Directive::Pause)
            .await
    }

    /// # Errors
    /// An unknown, stopped or failed agent, the store's failure.
    pub async fn resume_agent(&self, name: &str) -> Result<AgentView, AgentsError> {
        self.set_pause(name, Request::Resume, Pause::Resumed, Directive::Resume)
            .await
    }

    /// Removes it, with all that it had if `removal` says so. Waits until nothing of it is left, unless
    /// the runtime cannot be asked: then that happens once it can.
    ///
    /// # Errors
    /// An unknown agent, something that cannot be deleted (the agent is removed then, and deleting
    /// goes on), the store's failure.
    pub async fn remove_agent(&self, name: &str, removal: Removal) -> Result<(), AgentsError> {
        let row = self.row(name).await?;
        self.admit(&row, Request::Remove)?;
        let id = row.id;
        self.0
            .store
            .write(move |tx| removal::remove(tx, id, removal))
            .await?;
        let Some(handle) = self.0.fleet.get(id) else {
            return Ok(());
        };
        handle.nudge.notify_one();
        if handle.memory().held == Held::Unknown {
            return Ok(());
        }
        tokio::select! {
            () = handle.finished.cancelled() => Ok(()),
            () = handle.stuck.notified() => self.stuck(id).await,
            // Too slow: the driver goes on.
            () = tokio::time::sleep(self.0.settings.grace + REMOVAL) => Ok(()),
        }
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

    fn admit(&self, row: &AgentRow, request: Request) -> Result<Verdict, AgentsError> {
        let standing = match row.desired {
            Desired::Stopped => Standing::Stopped,
            Desired::Running if !row.failed.is_empty() => Standing::Failed,
            Desired::Running if row.paused => Standing::Paused,
            Desired::Running => Standing::Running,
        };
        match admit(standing, request) {
            Verdict::Deny(why) => Err(AgentsError::Denied {
                name: row.name.to_string(),
                why,
            }),
            verdict @ (Verdict::Accept | Verdict::AlreadySo) => Ok(verdict),
        }
    }

    async fn want(&self, row: &AgentRow, desired: Desired) -> Result<(), AgentsError> {
        let id = row.id;
        self.0
            .store
            .write(move |tx| table::set_desired(tx, id, desired))
            .await?;
        self.wake(id);
        Ok(())
    }

    /// A start that was asked for counts no death and knows no haste.
    fn allow(&self, row: &AgentRow) {
        self.drive(row);
        if let Some(handle) = self.0.fleet.get(row.id) {
            let mut memory = handle.memory();
            memory.cause = Cause::Fresh;
            memory.haste = Haste::Grace;
            drop(memory);
            handle.nudge.notify_one();
        }
    }

    fn hurry(&self, id: AgentId) {
        if let Some(handle) = self.0.fleet.get(id) {
            handle.memory().haste = Haste::Now;
            handle.hurry.notify_waiters();
        }
    }

    fn wake(&self, id: AgentId) {
        if let Some(handle) = self.0.fleet.get(id) {
            handle.nudge.notify_one();
        }
        self.0.look_soon();
    }

    async fn set_pause(
        &self,
        name: &str,
        request: Request,
        pause: Pause,
        directive: Directive,
    ) -> Result<AgentView, AgentsError> {
        let row = self.row(name).await?;
        if self.admit(&row, request)? == Verdict::Accept {
            let id = row.id;
            self.0
                .store
                .write(move |tx| table::set_paused(tx, id, pause))
                .await?;
            // Not connected: it learns it when it opens its session.
            let _ = self.0.sessions.direct(id, directive);
            self.0.look_soon();
        }
        self.shown_after(&row).await
    }

    async fn shown_after(&self, row: &AgentRow) -> Result<AgentView, AgentsError> {
        self.view_of(row.id).await
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
                    handle.runtime_left();
                }
            }
            // The stream ended: maybe everything changed meanwhile.
            self.look_soon();
            tokio::time::sleep(EVENTS_AGAIN).await;
        }
    }
}
