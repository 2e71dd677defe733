//! A container engine of a test's own, which can be restarted and killed. Needs root, as every engine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::daemon::Daemon;
use crate::wait::until;

/// What an engine needs to start or end on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A running engine. Dropping it ends it and deletes what it had.
#[derive(Debug)]
pub struct Engine {
    folder: TempDir,
    daemon: Option<Daemon>,
    /// Containers outlive a restart of the engine.
    live_restore: bool,
}

// === impl Engine ===

impl Engine {
    /// Starts an engine that has the agent image.
    pub async fn start(live_restore: bool) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("hvd")
            .tempdir_in("/tmp")
            .expect("a temporary directory");
        let mut engine = Self {
            folder,
            daemon: None,
            live_restore,
        };
        engine.serve().await;
        engine.load_image();
        engine
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("d.sock")
    }

    /// The value of `DOCKER_HOST`.
    #[must_use]
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Runs `docker` on this engine: exit code and stdout.
    #[must_use]
    pub fn docker(&self, args: &[&str]) -> (i32, String) {
        let output = Command::new("docker")
            .args(["-H", &self.host()])
            .args(args)
            .output()
            .unwrap_or_else(|error| panic!("cannot run docker: {error}"));
        (
            output.status.code().unwrap_or(-1),
            String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    }

    /// Ends the engine as a service manager does, or by KILL, and starts it again.
    pub async fn restart(&mut self, signal: Signal) {
        let mut daemon = self.daemon.take().expect("the engine runs");
        daemon.signal(signal);
        daemon.end(LONG).await;
        // Its containerd has died with it. Where nobody reaps orphans it is a zombie, and the next engine,
        // which finds its pid here, would wait for it.
        let pid = self.folder.path().join("exec/containerd/containerd.pid");
        let _ = std::fs::remove_file(pid);
        self.serve().await;
    }

    async fn serve(&mut self) {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new("dockerd");
        // Agents have no network, so the engine needs none.
        command.args(["--bridge=none", "--iptables=false", "--ip6tables=false"]);
        command.arg("--data-root").arg(at("data"));
        command.arg("--exec-root").arg(at("exec"));
        command.arg("--pidfile").arg(at("pid"));
        command.args(["-H", &self.host()]);
        if self.live_restore {
            command.arg("--live-restore");
        }
        self.daemon = Some(Daemon::start(command, &at("log")));
        until("the engine answers", LONG, || {
            std::future::ready((self.docker(&["version"]).0 == 0).then_some(()))
        })
        .await;
    }

    /// Copies the agent image from the engine that all tests share.
    fn load_image(&self) {
        let mut saving = Command::new("docker")
            .args(["save", "hive-agent:latest"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("docker runs");
        let image = saving.stdout.take().expect("it was piped");
        let loaded = Command::new("docker")
            .args(["-H", &self.host(), "load", "-q"])
            .stdin(image)
            .stdout(Stdio::null())
            .status();
        let saved = saving.wait().expect("docker ends");
        let loaded = loaded.expect("docker runs");
        assert!(saved.success() && loaded.success(), "the agent image");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let (_, ids) = self.docker(&["ps", "-aq"]);
        for id in ids.lines() {
            let _ = self.docker(&["rm", "-f", id]);
        }
        if let Some(daemon) = &self.daemon {
            daemon.signal(Signal::TERM);
            let end = std::time::Instant::now() + LONG;
            while Path::new(&format!("/proc/{}/fd", daemon.pid())).exists()
                && self.folder.path().join("pid").exists()
                && std::time::Instant::now() < end
            {
                std::thread::yield_now();
            }
        }
        // Layers stay mounted below a data directory until somebody unmounts them.
        for mount in mounts_below(self.folder.path()) {
            let _ = Command::new("umount").arg("-l").arg(mount).status();
        }
    }
}

/// Mount points in a folder, the deepest first.
fn mounts_below(folder: &Path) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut found: Vec<String> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .filter(|at| Path::new(at).starts_with(folder))
        .map(str::to_owned)
        .collect();
    found.sort_by_key(|at| std::cmp::Reverse(at.len()));
    found
}
