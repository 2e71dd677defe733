//! This process's children: starts them in groups, and reaps what nobody waits for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::table::{pid, processes};

/// The children of this process, as far as they matter to others than those who started them; cheap to
/// clone. Whoever reaps uses the same value as those who start.
#[derive(Clone, Debug, Default)]
pub struct Children {
    /// Those whose exit status somebody waits for: the reaper leaves them alone.
    waited: Arc<Mutex<BTreeSet<u32>>>,
}

/// A child in a group of its own; killed and left to the reaper when dropped.
#[derive(Debug)]
pub struct Group {
    child: Child,
    pid: u32,
    children: Children,
}

/// Makes orphaned descendants this process's children.
///
/// # Errors
/// When the kernel refuses.
pub fn become_subreaper() -> std::io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

// === impl Children ===

impl Children {
    /// Starts `command` as the leader of a new process group.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn_group(&self, command: &mut Command) -> std::io::Result<Group> {
        // Held over the start, so that the reaper cannot see the child before it is listed.
        let mut waited = self.waited();
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let pid = child.id().unwrap_or_default();
        waited.insert(pid);
        drop(waited);
        Ok(Group {
            child,
            pid,
            children: self.clone(),
        })
    }

    /// Waits for every child that died and that nobody else waits for.
    pub fn reap(&self) {
        let own = std::process::id();
        let waited = self.waited();
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
    pub async fn keep_reaping(self, until: CancellationToken) {
        let mut children = match signal(SignalKind::child()) {
            Ok(children) => children,
            Err(error) => {
                tracing::warn!(%error, "orphans are only reaped after turns");
                return;
            }
        };
        loop {
            tokio::select! {
                _ = children.recv() => self.reap(),
                () = until.cancelled() => return,
            }
        }
    }

    fn waited(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    /// Ends the child and every descendant, as [`Children::kill_tree`] does; its exit status can be
    /// asked for afterwards.
    pub async fn kill(&self, grace: Duration) -> usize {
        self.children.kill_tree(self.pid, grace).await
    }

    /// Ends the child and every descendant: TERM, `grace`, KILL.
    pub async fn end(mut self, grace: Duration) -> std::io::Result<std::process::ExitStatus> {
        self.kill(grace).await;
        self.child.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.children.waited().remove(&self.pid);
    }
}
