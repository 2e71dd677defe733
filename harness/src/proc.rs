//! Processes of a turn: started in a group of their own, ended with everything they started.
//!
//! The harness is a subreaper, so whatever its descendants leave behind stays its descendant. A child
//! may call `setsid`, so a group is not enough: the tree is read from `/proc`. Every signal goes
//! through a pidfd after the start time was compared, so a reused pid is never hit.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long processes may take to vanish after KILL.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Between two looks at `/proc` while processes end.
const LOOK: Duration = Duration::from_millis(20);

/// Children whose exit status somebody waits for: the reaper leaves them alone.
static WAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// One process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    pid: u32,
    parent: u32,
    /// Process group.
    group: u32,
    /// In clock ticks since boot: with the pid it names a process for good.
    started: u64,
    zombie: bool,
}

/// A child in a group of its own; killed and left to the reaper when dropped.
#[derive(Debug)]
pub struct Group {
    child: Child,
    pid: u32,
}

/// Makes orphaned descendants this process's children.
///
/// # Errors
/// When the kernel refuses.
pub fn become_subreaper() -> std::io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Starts `command` as the leader of a new process group.
///
/// # Errors
/// When the program cannot be started.
pub fn spawn_group(command: &mut Command) -> std::io::Result<Group> {
    // Held over the start, so that the reaper cannot see the child before it is listed.
    let mut waited = waited();
    let child = command.process_group(0).kill_on_drop(true).spawn()?;
    let pid = child.id().unwrap_or_default();
    waited.insert(pid);
    Ok(Group { child, pid })
}

// === impl Group ===

impl Group {
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The child itself, for its pipes and its exit status.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Ends the child and every descendant: TERM, `grace`, KILL.
    pub async fn end(mut self, grace: Duration) -> std::io::Result<std::process::ExitStatus> {
        kill_tree(self.pid, grace).await;
        self.child.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        waited().remove(&self.pid);
    }
}

/// Ends `pid` and every descendant it has now: TERM, then KILL after `grace` (at once when zero).
/// Gives the number of processes it found.
pub async fn kill_tree(pid: u32, grace: Duration) -> usize {
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
    reap();
    found
}

/// Ends every descendant of this process except the `keep` ones, at once. Gives the number found.
pub async fn end_strays(keep: &[u32]) -> usize {
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
        reap();
    }
    ended.len()
}

/// Waits for every child that died and that nobody else waits for.
pub fn reap() {
    let own = std::process::id();
    let waited = waited();
    for seen in processes() {
        if seen.parent != own || !seen.zombie || waited.contains(&seen.pid) {
            continue;
        }
        if let Some(pid) = pid(seen.pid) {
            // It may be gone already; nothing is lost then.
            _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Reaps whenever a child ends, until `until`.
pub async fn keep_reaping(until: CancellationToken) {
    let mut children = match signal(SignalKind::child()) {
        Ok(children) => children,
        Err(error) => {
            tracing::warn!(%error, "orphans are only reaped after turns");
            return;
        }
    };
    loop {
        tokio::select! {
            _ = children.recv() => reap(),
            () = until.cancelled() => return,
        }
    }
}

/// Living descendants of `root`, without `keep`; below a kept one the search goes on.
fn below(all: &[Seen], root: u32, keep: &[u32]) -> Vec<Seen> {
    let mut children: HashMap<u32, Vec<Seen>> = HashMap::new();
    for seen in all {
        children.entry(seen.parent).or_default().push(*seen);
    }
    let mut found = Vec::new();
    let mut queue = vec![root];
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            queue.push(child.pid);
            if !child.zombie && !keep.contains(&child.pid) {
                found.push(child);
            }
        }
    }
    found
}

/// What lives of a tree: the root, what hangs below it or below one of the `known` members, and its
/// group, which also holds what a member forked while it died. Parents come before children: a parent
/// that is still alive could fork again.
fn belonging(all: &[Seen], root: &Seen, known: &[Seen]) -> Vec<Seen> {
    let leads = root.group == root.pid;
    let mut found: Vec<Seen> = Vec::new();
    for seen in all {
        let same = |other: &Seen| other.pid == seen.pid && other.started == seen.started;
        let in_group = leads && seen.group == root.pid && seen.started >= root.started;
        if same(root) || in_group || known.iter().any(same) {
            found.push(*seen);
            found.extend(below(all, seen.pid, &[]));
        }
    }
    found.retain(|seen| !seen.zombie);
    let mut once = BTreeSet::new();
    found.retain(|seen| once.insert(seen.pid));
    found
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

fn processes() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

fn read(pid: u32) -> Option<Seen> {
    parse(
        pid,
        &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
    )
}

/// One line of `/proc/<pid>/stat` (proc(5)). The name is in parentheses and may hold anything.
fn parse(pid: u32, stat: &str) -> Option<Seen> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let state = *fields.first()?;
    Some(Seen {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        zombie: matches!(state, "Z" | "X" | "x"),
    })
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

fn waited() -> MutexGuard<'static, BTreeSet<u32>> {
    WAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Seen, belonging, below, parse};

    fn seen(pid: u32, parent: u32) -> Seen {
        Seen {
            pid,
            parent,
            group: parent,
            started: 1,
            zombie: false,
        }
    }

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let stat = "7 (a) R 1 (b)) S 3 6 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        assert_eq!(
            parse(7, stat),
            Some(Seen {
                pid: 7,
                parent: 3,
                group: 6,
                started: 4711,
                zombie: false
            })
        );
        assert_eq!(parse(7, ""), None);
    }

    #[test]
    fn what_hangs_below_a_kept_process_is_found() {
        let all = [seen(2, 1), seen(3, 2), seen(4, 3), seen(9, 8)];
        let pids = |keep: &[u32]| {
            let mut pids: Vec<u32> = below(&all, 1, keep).iter().map(|seen| seen.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(&[]), [2, 3, 4]);
        assert_eq!(pids(&[2]), [3, 4]);
        assert_eq!(pids(&[3]), [2, 4]);
    }
    #[test]
    fn a_tree_holds_its_group_and_what_its_members_left() {
        let in_group = |pid, parent, group| Seen {
            group,
            ..seen(pid, parent)
        };
        // 10 leads; 11 is its child; 12 was forked by a member that is gone; 13 left the group and is
        // known; 14 hangs below 13; 15 is a stranger.
        let all = [
            in_group(10, 1, 10),
            in_group(11, 10, 10),
            in_group(12, 1, 10),
            in_group(13, 1, 13),
            in_group(14, 13, 13),
            in_group(15, 1, 15),
        ];
        let pids = |known: &[Seen]| {
            let found = belonging(&all, &all[0], known);
            let mut pids: Vec<u32> = found.iter().map(|seen| seen.pid).collect();
            assert_eq!(pids[0], 10);
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(&[]), [10, 11, 12]);
        assert_eq!(pids(&[all[3]]), [10, 11, 12, 13, 14]);
    }
}
