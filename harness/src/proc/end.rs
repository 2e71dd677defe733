//! Ends processes with all that they started: TERM, a grace, KILL, until `/proc` shows none of them.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::Instant;

use super::Children;
use super::table::{Seen, belonging, below, pid, processes, read};

/// How long processes may take to vanish after KILL.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Between two looks at `/proc` while processes end.
const LOOK: Duration = Duration::from_millis(20);

impl Children {
    /// Ends `pid` and every descendant it has now: TERM, then KILL after `grace` (at once when zero).
    /// Gives the number of processes it found.
    pub async fn kill_tree(&self, pid: u32, grace: Duration) -> usize {
        // In a container 0 is the parent of everything and 1 is its init.
        if pid <= 1 || pid == std::process::id() {
            return 0;
        }
        let all = processes();
        let Some(root) = all.iter().find(|seen| seen.pid == pid).copied() else {
            return 0;
        };
        let mut tree = belonging(&all, &root, &[]);
        let found = tree.len();
        if !grace.is_zero() {
            signal_all(&tree, Signal::TERM);
            gone(&root, &mut tree, grace).await;
        }
        let deadline = Instant::now() + KILL_WAIT;
        loop {
            let left = belonging(&processes(), &root, &tree);
            if left.is_empty() || Instant::now() > deadline {
                break;
            }
            signal_all(&left, Signal::KILL);
            tree.extend(left);
            tokio::time::sleep(LOOK).await;
        }
        self.reap();
        found
    }

    /// Ends every descendant of this process except the `keep` ones, at once. Gives the number found.
    pub async fn end_strays(&self, keep: &[u32]) -> usize {
        let own = std::process::id();
        let deadline = Instant::now() + KILL_WAIT;
        let mut ended = BTreeSet::new();
        loop {
            let left = below(&processes(), own, keep);
            if left.is_empty() || Instant::now() > deadline {
                break;
            }
            ended.extend(left.iter().map(|seen| (seen.pid, seen.started)));
            signal_all(&left, Signal::KILL);
            tokio::time::sleep(LOOK).await;
            self.reap();
        }
        ended.len()
    }
}

/// Waits until nothing of a tree lives, at most `limit`. What is forked after the first look gets its
/// TERM here: it would otherwise sit out the whole grace.
async fn gone(root: &Seen, tree: &mut Vec<Seen>, limit: Duration) {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        let left = belonging(&processes(), root, tree);
        if left.is_empty() {
            return;
        }
        let known = |seen: &Seen| {
            let same = |old: &Seen| old.pid == seen.pid && old.started == seen.started;
            tree.iter().any(same)
        };
        let newcomers: Vec<Seen> = left.into_iter().filter(|seen| !known(seen)).collect();
        signal_all(&newcomers, Signal::TERM);
        tree.extend(newcomers);
        tokio::time::sleep(LOOK).await;
    }
}

fn signal_all(tree: &[Seen], signal: Signal) {
    for seen in tree {
        let Some(pid) = pid(seen.pid) else { continue };
        // A process that cannot be opened is gone.
        let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        let same = read(seen.pid).is_some_and(|now| now.started == seen.started);
        if same {
            _ = pidfd_send_signal(&fd, signal);
        }
    }
}
