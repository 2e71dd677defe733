//! One task an agent: looks at what is wanted and what is, and takes the next step.

use std::sync::Arc;
use std::time::Duration;

use hive_proto::ids::UnixMs;
use tracing::{debug, info, warn};

use super::failure::Failure;
use super::fleet::Handle;
use super::memory::Memory;
use super::purge::{self, Purged};
use super::service::Inner;
use super::{spec, steps};
use crate::model::agent::{self, Cause, Goal, Held, Match, Situation, Step};
use crate::store::StoreError;
use crate::store::agents::{self as table, AgentRow, Desired};

/// Before a step that failed for a reason that passes is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// What the loop does next.
enum Next {
    /// Look again at once.
    Again,
    /// Wait for a change, at most so long.
    Wait(Option<Duration>),
    /// Nothing is left to drive.
    End,
}

/// Drives one agent until it is removed or the daemon stops.
pub(super) async fn run(inner: Arc<Inner>, handle: Arc<Handle>) {
    let stopping = inner.tasks.stopping();
    while !stopping.is_cancelled() {
        let next = tokio::select! {
            // A step that is cut off is found unfinished by the next broker.
            () = stopping.cancelled() => return,
            next = turn(&inner, &handle) => next,
        };
        let wait = match next {
            Ok(Next::Again) => continue,
            Ok(Next::Wait(wait)) => wait,
            Ok(Next::End) => break,
            Err(error) => {
                warn!(agent.name = %handle.name, %error, "cannot drive the agent");
                Some(AGAIN)
            }
        };
        tokio::select! {
            () = stopping.cancelled() => return,
            () = handle.nudge.notified() => {}
            () = sleep(wait) => {}
        }
    }
    inner.fleet.remove(handle.id);
    handle.finished.cancel();
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// One look and one step.
async fn turn(inner: &Arc<Inner>, handle: &Arc<Handle>) -> Result<Next, StoreError> {
    let id = handle.id;
    let Some(row) = inner.store.read(move |conn| table::get(conn, id)).await? else {
        return Ok(Next::End);
    };
    let loss = handle.memory().to_release;
    if let Some(loss) = loss {
        inner.sessions.release(id, loss).await?;
        handle.memory().to_release = None;
    }
    let served = steps::attend_sockets(inner, handle, &row).await;
    let parent = inner.parent_name(&row).await?;
    let spec = spec::build(&inner.settings, &row, &parent);
    let hash = inner.runtime.spec_hash(&spec);
    let step = {
        let memory = handle.memory();
        let situation = Situation {
            goal: goal(&row),
            held: memory.held,
            drift: if memory.spec_hash == hash {
                Match::Same
            } else {
                Match::Drifted
            },
            cause: cause(&row, &memory),
            given_up: !row.failed.is_empty(),
            restarts: &row.restarts,
            now: inner.clock.now(),
        };
        agent::next(&inner.settings.rule, &situation)
    };
    debug!(agent.name = %row.name, ?step, "next step");
    if let (Err(error), Step::Create | Step::Start { .. }) = (&served, &step) {
        warn!(agent.name = %row.name, %error, "the agent has no sockets, so it is not started");
        return Ok(Next::Wait(Some(AGAIN)));
    }
    act(inner, handle, &row, &spec, step).await
}

async fn act(
    inner: &Arc<Inner>,
    handle: &Arc<Handle>,
    row: &AgentRow,
    spec: &crate::runtime::Spec,
    step: Step,
) -> Result<Next, StoreError> {
    let done = match step {
        Step::Rest => return Ok(Next::Wait(None)),
        Step::Await(at) => return Ok(Next::Wait(Some(until(at, inner.clock.now())))),
        Step::Create if inner.fleet.is_name_busy(handle) => {
            return Ok(Next::Wait(Some(AGAIN)));
        }
        Step::Create => steps::create(inner, handle, row, spec).await,
        Step::Start { counted } => steps::start(inner, handle, row, counted).await,
        Step::Stop => steps::stop(inner, handle).await,
        Step::Remove => steps::remove(inner, handle).await,
        Step::GiveUp { restarts } => {
            let detail = handle.memory().detail.clone();
            let why = format!("restarted {restarts} times in a short while: {detail}");
            steps::give_up(inner, handle, row, &why).await?;
            return Ok(Next::Wait(Some(AGAIN)));
        }
        Step::Finished => {
            return Ok(match steps::finish(inner, handle, row).await? {
                Purged::Done => {
                    info!(agent.name = %row.name, "removed");
                    Next::End
                }
                Purged::Stuck => Next::Wait(Some(purge::AGAIN)),
            });
        }
    };
    match done {
        Ok(()) => Ok(Next::Again),
        Err(Failure::Store(error)) => Err(error),
        Err(Failure::Passing(why)) => {
            warn!(agent.name = %row.name, %why, "a step did not work, it is tried again");
            Ok(Next::Wait(Some(AGAIN)))
        }
        Err(Failure::Final(why)) => {
            steps::give_up(inner, handle, row, &why).await?;
            Ok(Next::Wait(Some(AGAIN)))
        }
        // The next look says how it stands.
        Err(Failure::Unknown) => Ok(Next::Wait(None)),
    }
}

/// What is wanted, from what is recorded.
pub(super) fn goal(row: &AgentRow) -> Goal {
    match (row.removed_at, row.desired) {
        (Some(_), _) => Goal::Removed,
        (None, Desired::Running) => Goal::Running,
        (None, Desired::Stopped) => Goal::Stopped,
    }
}

/// Why it does not run, or is not to go on: what was asked for comes before what happened.
fn cause(row: &AgentRow, memory: &Memory) -> Cause {
    if row.restart_asked {
        Cause::RestartAsked
    } else {
        memory.cause
    }
}

/// Whether anything of it may be served.
pub(super) fn is_served(goal: Goal, held: Held) -> bool {
    match goal {
        Goal::Running => true,
        Goal::Stopped | Goal::Removed => matches!(held, Held::Running | Held::Frozen),
    }
}

fn until(at: UnixMs, now: UnixMs) -> Duration {
    Duration::from_millis(u64::try_from(at.0.saturating_sub(now.0)).unwrap_or_default())
}
