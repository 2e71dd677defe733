//! A child process under test: its output in a file, its signals, its end within a deadline.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait::until;

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// What it wrote to stdout and stderr.
    pub log: PathBuf,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

// === impl Daemon ===

impl Daemon {
    /// Starts `command`, appending its output to `log`.
    #[must_use]
    pub fn start(mut command: Command, log: &Path) -> Self {
        let open = || {
            File::options()
                .create(true)
                .append(true)
                .open(log)
                .unwrap_or_else(|error| panic!("{}: {error}", log.display()))
        };
        command.stdin(Stdio::null()).stdout(open()).stderr(open());
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self {
            child,
            log: log.to_owned(),
        }
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal; a process that is gone already is left alone.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Everything it has written so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// How it ended, or none while it runs.
    pub fn ended(&mut self) -> Option<Ended> {
        let status = self.child.try_wait().expect("a child can be waited for")?;
        Some(Ended::of(status))
    }

    /// Waits for its end.
    pub async fn end(&mut self, limit: Duration) -> Ended {
        let what = format!("process {} ends", self.pid());
        until(&what, limit, || std::future::ready(self.ended())).await
    }

    /// KILL, and wait until it is gone.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.end(Duration::from_secs(10)).await;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Gone already is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Ended ===

impl Ended {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

/// Sends `signal` to one process.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // A process that has ended meanwhile needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// Whether no thread of a process lives, so that it holds no file and no lock any more. Its first thread may
/// be a zombie while another one still waits for the disk.
#[must_use]
pub fn is_dead(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    tasks.flatten().all(|task| {
        std::fs::read_to_string(task.path().join("stat"))
            .map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
    })
}

/// Processes whose environment contains `needle`: the agents of one test hive.
#[must_use]
pub fn marked(needle: &str) -> Vec<u32> {
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environ).contains(needle)
        })
        .collect()
}
