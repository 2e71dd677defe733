//! The driver's steps: each does one thing in the runtime and records it.

use std::time::Duration;

use hive_proto::ids::UnixMs;
use tracing::{info, warn};

use super::failure::{Failure, forget, judge};
use super::fleet::Handle;
use super::purge::{self, Purged};
use super::service::Inner;
use super::{Haste, driver, spec};
use crate::model::agent::{Cause, Held};
use crate::model::outcome::Loss;
use crate::model::shown::Operation;
use crate::notices;
use crate::runtime::{RuntimeError, Spec};
use crate::settle;
use crate::sockets::SocketsError;
use crate::store::agents::{self as table, AgentRow, Desired};
use crate::store::{Recipient, StoreError};

/// The engine that has no memory of what it was doing.
const SCRIPTED: &str = "scripted";
const KICK: &str = "You were just restarted by hive. /state and your session are intact: look at what you were doing and go on.";

/// Sets the operation for as long as it lives; a step that is cut off ends it, too.
struct Busy<'a> {
    handle: &'a Handle,
    inner: &'a Inner,
}

// === impl Busy ===

impl<'a> Busy<'a> {
    fn begin(inner: &'a Inner, handle: &'a Handle, operation: Operation) -> Self {
        handle.memory().operation = operation;
        inner.look_soon();
        Self { handle, inner }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        {
            let mut memory = self.handle.memory();
            memory.operation = Operation::None;
            memory.acted_at = self.inner.clock.monotonic();
        }
        self.inner.look_soon();
    }
}

/// Opens the sockets of an agent that runs or is to run, closes those of one that is at rest.
pub(super) async fn attend_sockets(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
) -> Result<(), SocketsError> {
    let held = handle.memory().held;
    if driver::is_served(driver::goal(row), held) {
        return inner.sockets.open(row.id, &row.name).await;
    }
    if held != Held::Unknown && !inner.fleet.is_name_busy(handle) {
        inner.sockets.close(&row.name).await;
    }
    Ok(())
}

pub(super) async fn create(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
    spec: &Spec,
) -> Result<(), Failure> {
    let _busy = Busy::begin(inner, handle, Operation::Starting);
    spec::make_directories(&inner.settings, row)
        .map_err(|error| Failure::Final(format!("its directories cannot be made: {error}")))?;
    let created = inner.runtime.create(spec).await;
    let id = created.map_err(|error| judge(handle, inner.clock.now(), error))?;
    let hash = inner.runtime.spec_hash(spec);
    {
        let mut memory = handle.memory();
        memory.held = Held::Made;
        memory.runtime_id.clone_from(&id);
        memory.spec_hash.clone_from(&hash);
        memory.hive = inner.runtime.isolated().then(|| spec.hive.clone());
    }
    record_instance(inner, handle, id, hash).await
}

pub(super) async fn start(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
    counted: Option<Vec<UnixMs>>,
) -> Result<(), Failure> {
    let busy = Busy::begin(inner, handle, Operation::Starting);
    // Made anew each time: what lies below the socket directory does not survive a reboot.
    spec::make_directories(&inner.settings, row)
        .map_err(|error| Failure::Final(format!("its directories cannot be made: {error}")))?;
    let (id, cause, why) = {
        let memory = handle.memory();
        (
            memory.runtime_id.clone(),
            memory.cause,
            memory.detail.clone(),
        )
    };
    record_start(inner, row, cause, counted, why).await?;
    let started = inner.runtime.start(&id).await;
    started.map_err(|error| judge(handle, inner.clock.now(), error))?;
    {
        let mut memory = handle.memory();
        memory.held = Held::Running;
        memory.cause = Cause::Fresh;
        memory.detail.clear();
        memory.running_since = inner.clock.monotonic();
    }
    drop(busy);
    info!(agent.name = %row.name, "started");
    Ok(())
}

/// In one transaction, before the start: that it is a restart, that none is asked for any more, and the
/// line that says so to the agent.
/// A crash in between starts it without counting twice: the next broker begins afresh.
async fn record_start(
    inner: &Inner,
    row: &AgentRow,
    cause: Cause,
    counted: Option<Vec<UnixMs>>,
    why: String,
) -> Result<(), StoreError> {
    let again = row.restart_asked || matches!(cause, Cause::Died { .. });
    let kick = again && row.engine != SCRIPTED;
    if counted.is_none() && !again {
        return Ok(());
    }
    let id = row.id;
    inner
        .store
        .write(move |tx| {
            table::begin_restart(tx, id)?;
            if let Some(counted) = &counted {
                table::record_restart(tx, id, counted, &why)?;
            }
            if kick {
                notices::remind(tx, Recipient::Agent(id), KICK)?;
            }
            Ok(())
        })
        .await
}

pub(super) async fn stop(inner: &Inner, handle: &Handle) -> Result<(), Failure> {
    let busy = Busy::begin(inner, handle, Operation::Stopping);
    // Listens before it looks, so that haste that comes in between is not missed.
    let hurried = handle.hurry.notified();
    tokio::pin!(hurried);
    hurried.as_mut().enable();
    let (id, haste) = {
        let memory = handle.memory();
        (memory.runtime_id.clone(), memory.haste)
    };
    let grace = match haste {
        Haste::Grace => inner.settings.grace,
        Haste::Now => Duration::ZERO,
    };
    let stopped = tokio::select! {
        stopped = inner.runtime.stop(&id, grace) => stopped,
        () = hurried => inner.runtime.stop(&id, Duration::ZERO).await,
    };
    match stopped {
        Ok(()) => {}
        Err(RuntimeError::NotFound(_)) => forget(&mut handle.memory()),
        Err(RuntimeError::Failed(why)) => return Err(Failure::Passing(why)),
        Err(other) => {
            let failure = judge(handle, inner.clock.now(), other);
            // Perhaps it was told to end: an end that is found later is no death.
            handle.memory().forget_sight();
            return Err(failure);
        }
    }
    {
        let mut memory = handle.memory();
        if memory.held != Held::Absent {
            memory.held = Held::Exited;
        }
        memory.haste = Haste::Grace;
        memory.detail.clear();
        memory.to_release = Some(Loss::Stopped);
        memory.cause = Cause::StoppedByHive;
    }
    drop(busy);
    info!(agent.name = %handle.name, "stopped");
    Ok(())
}

pub(super) async fn remove(inner: &Inner, handle: &Handle) -> Result<(), Failure> {
    let _busy = Busy::begin(inner, handle, Operation::Stopping);
    let id = handle.memory().runtime_id.clone();
    let removed = inner.runtime.remove(&id).await;
    removed.map_err(|error| judge(handle, inner.clock.now(), error))?;
    forget(&mut handle.memory());
    record_instance(inner, handle, String::new(), String::new()).await
}

async fn record_instance(
    inner: &Inner,
    handle: &Handle,
    runtime_id: String,
    hash: String,
) -> Result<(), Failure> {
    let id = handle.id;
    let recorded = inner
        .store
        .write(move |tx| table::set_instance(tx, id, &runtime_id, &hash));
    Ok(recorded.await?)
}

/// Records that only a person can start it again, and tells the operator.
pub(super) async fn give_up(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
    why: &str,
) -> Result<(), StoreError> {
    warn!(agent.name = %row.name, %why, "gave up on the agent");
    let (id, name, why) = (row.id, row.name.clone(), why.to_owned());
    inner
        .store
        .write(move |tx| {
            let living = table::get(tx.conn(), id)?;
            let to_run = living.is_some_and(|row| {
                row.removed_at.is_none() && row.failed.is_empty() && row.desired == Desired::Running
            });
            if !to_run {
                return Ok(());
            }
            table::set_failed(tx, id, &why)?;
            let body =
                format!("{name} has failed: {why}. It stays down until `hive agent start {name}`.");
            settle::post_system(tx, Recipient::Operator, &body)?;
            Ok(())
        })
        .await?;
    handle.memory().cause = Cause::Fresh;
    inner.look_soon();
    Ok(())
}

/// Nothing of a removed agent runs any more: its sockets go, and its files if it was purged.
pub(super) async fn finish(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
) -> Result<Purged, StoreError> {
    // They may be a new agent's by now.
    if !inner.fleet.is_name_busy(handle) {
        inner.sockets.close(&row.name).await;
    }
    purge::delete(inner, handle, row).await
}
