//! Signals to a whole tree of processes, each to exactly the process that was seen.

use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tracing::warn;

use super::scan::{self, Seen};

/// How long killed processes may take to vanish (one that sleeps in the kernel takes longer).
const VANISH: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Sends `signal` to the process that was seen, never to a later one of the same number.
pub(super) fn signal(seen: &Seen, signal: Signal) {
    let Some(pid) = Pid::from_raw(seen.pid) else {
        return;
    };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    // The handle pins the number, so a start time that still agrees proves that it is the same one.
    if scan::look(seen.pid).is_some_and(|now| now.started == seen.started) {
        // Gone meanwhile is what is wanted.
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// KILLs everything that belongs to the agent until nothing is left; says how many there were.
pub(super) async fn kill(hive: &str, agent: &str, leader: Option<&Seen>) -> usize {
    end(|seen| scan::is_agents(seen.pid, hive, agent), leader).await
}

/// KILLs every process that has `name` with one of `values` in its environment, their descendants, and
/// the whole of a process group, until nothing is left. The group's leader must not have been waited for:
/// its number could be another's.
pub(crate) async fn end_marked(name: &str, values: &[String], group: Option<i32>) {
    let marked = |seen: &Seen| {
        let env = scan::environment(seen.pid);
        group == Some(seen.group) || env.get(name).is_some_and(|one| values.contains(one))
    };
    end(marked, None).await;
}

async fn end(is_marked: impl Fn(&Seen) -> bool, leader: Option<&Seen>) -> usize {
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        let members = scan::members(&scan::processes(), &is_marked, leader);
        if members.is_empty() {
            return killed;
        }
        if begin.elapsed() > VANISH {
            let pids: Vec<i32> = members.iter().map(|member| member.pid).collect();
            warn!(?pids, "killed processes do not end");
            return killed;
        }
        killed = killed.max(members.len());
        for member in &members {
            signal(member, Signal::KILL);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}
