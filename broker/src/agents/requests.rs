//! What the operator asks of agents: admitted, recorded, and the agent's driver woken.

use std::time::Duration;

use hive_proto::ids::AgentId;

use super::error::AgentsError;
use super::service::Agents;
use super::view::AgentView;
use crate::model::admission::{Request, Standing, Verdict, admit};
use crate::model::agent::{Cause, Held};
use crate::removal;
use crate::sessions::Directive;
use crate::store::agents::{self as table, AgentRow, Desired, Pause, Removal};

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

// === impl Agents ===

impl Agents {
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
