//! One task a harness: waits for its end, ends what it left behind, records it and tells.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::Child;
use tokio::sync::watch;
use tracing::warn;

use super::adapter::Process;
use super::log::LogFile;
use super::scan::{self, Seen};
use super::table::{Entry, Found, Running, State};
use super::tree;
use crate::runtime::{Changed, Exit, Spec};

/// What a harness has at a shutdown of the broker: less than the broker's own grace.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// How often an adopted process is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// Most of a line that is kept in memory at a time.
const PIECE_BYTES: u64 = 16 * 1024;
/// Exit code of a process whose real one only its parent could learn.
const UNKNOWN_CODE: i64 = -1;

/// Records a fresh child as running and watches it.
pub(super) fn watch(process: &Process, spec: &Spec, mut child: Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.unwrap_or_default();
    let leader = scan::look(pid).unwrap_or(Seen {
        pid,
        parent: 0,
        group: pid,
        session: pid,
        started: 0,
    });
    let (sender, ended) = watch::channel(false);
    let running = Running { leader, ended };
    let entry_log = {
        let mut table = process.0.table();
        let Some(entry) = table.0.get_mut(&spec.name) else {
            // Removed meanwhile: dropping the child kills it.
            return;
        };
        entry.state = State::Running(running.clone());
        Arc::clone(&entry.log)
    };
    process.0.tell(changed(spec.agent_id, "start"));
    pump(process, &entry_log, child.stdout.take());
    pump(process, &entry_log, child.stderr.take());
    let (process, spec) = (process.clone(), spec.clone());
    let tasks = process.0.tasks.clone();
    tasks.spawn("process.watch", async move {
        let code = wait(&process, &mut child, &running.leader).await;
        tree::kill(&process.0.hive, spec.name.as_str(), Some(&running.leader)).await;
        let exit = Exit {
            code,
            out_of_memory: false,
        };
        let id = running.id();
        if let Some(entry) = process.0.table().0.get_mut(&spec.name) {
            entry.state = State::Exited { id, exit };
        }
        let _ = sender.send(true);
        process.0.tell(changed(spec.agent_id, "die"));
    });
}

/// Records a process of an earlier broker as running and watches it until it is gone.
pub(super) fn adopt(process: &Process, found: Found) {
    let (sender, ended) = watch::channel(false);
    let leader = found.leader.clone();
    let running = Running {
        leader: found.leader,
        ended,
    };
    let entry = Entry {
        agent_id: found.agent_id,
        hash: found.hash,
        spec: None,
        state: State::Running(running),
        log: found.log,
    };
    process.0.table().0.insert(found.name.clone(), entry);
    let process = process.clone();
    let tasks = process.0.tasks.clone();
    tasks.spawn("process.adopted", async move {
        let stopping = process.0.tasks.stopping();
        tokio::select! {
            () = gone(&leader) => {}
            // It has no parent here to die with: ending it now keeps leftovers out of the next start.
            () = stopping.cancelled() => tree::signal(&leader, Signal::TERM),
        }
        tree::kill(&process.0.hive, found.name.as_str(), Some(&leader)).await;
        process.0.table().0.remove(&found.name);
        let _ = sender.send(true);
        process.0.tell(changed(found.agent_id, "die"));
    });
}

/// Waits for the child; a shutdown of the broker ends it first.
async fn wait(process: &Process, child: &mut Child, leader: &Seen) -> i64 {
    let stopping = process.0.tasks.stopping();
    let status = tokio::select! {
        status = child.wait() => Some(status),
        () = stopping.cancelled() => None,
    };
    let status = match status {
        Some(status) => status,
        None => {
            tree::signal(leader, Signal::TERM);
            match tokio::time::timeout(SHUTDOWN_GRACE, child.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    // It is gone already, which is what is wanted.
                    let _ = child.start_kill();
                    child.wait().await
                }
            }
        }
    };
    status.map_or(UNKNOWN_CODE, code)
}

/// As a shell counts: 128 and the signal's number for a killed one.
fn code(status: ExitStatus) -> i64 {
    let signalled = status.signal().map(|signal| 128 + i64::from(signal));
    let exited = status.code().map(i64::from);
    exited.or(signalled).unwrap_or(UNKNOWN_CODE)
}

/// Returns when the process is gone. It is nobody's child here, so it is looked at.
async fn gone(leader: &Seen) {
    while scan::look(leader.pid).is_some_and(|now| now.started == leader.started) {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Copies one output of a harness into its log, line by line.
fn pump(
    process: &Process,
    log: &Arc<LogFile>,
    output: Option<impl AsyncRead + Unpin + Send + 'static>,
) {
    let Some(output) = output else { return };
    let log = Arc::clone(log);
    process.0.tasks.spawn("process.log", async move {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        let mut warned = false;
        loop {
            line.clear();
            // A line without an end is taken in pieces.
            let mut piece = (&mut lines).take(PIECE_BYTES);
            match piece.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            if let Err(error) = log.append(text.trim_end())
                && !warned
            {
                warned = true;
                warn!(%error, "cannot write a harness's log");
            }
        }
    });
}

fn changed(agent_id: hive_proto::ids::AgentId, what: &str) -> Changed {
    Changed {
        agent_id,
        what: what.to_owned(),
    }
}
