//! A whole hive in a temporary directory: a real `hived`, its agents, and the public API to them.
//!
//! - [`process`]: starting, killing and ending `hived`
//! - [`agents`]: what its agents are doing

mod agents;
mod process;

pub(crate) use process::answers;
use std::path::{Path, PathBuf};

use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::builder::Setup;
use crate::client::{self, Agent, Manager, Operator};
use crate::command::{Ran, run};
use crate::daemon::{Daemon, send};
use crate::{docker, programs};

/// One running hive. Dropping it ends every process and container of it.
#[derive(Debug)]
pub struct TestHive {
    setup: Setup,
    dir: TempDir,
    daemon: Option<Daemon>,
    /// Names of agents whose containers are to be removed.
    created: Vec<String>,
}

// === impl TestHive ===

impl TestHive {
    #[must_use]
    pub fn builder() -> Setup {
        Setup::default()
    }

    /// Prepares the directories and the configuration; nothing runs yet.
    pub(crate) fn prepare(setup: Setup) -> Self {
        // Short, because a socket's path has 107 bytes.
        let dir = tempfile::Builder::new()
            .prefix("hv")
            .rand_bytes(5)
            .tempdir_in("/tmp")
            .expect("a temporary directory");
        let hive = Self {
            setup,
            dir,
            daemon: None,
            created: Vec::new(),
        };
        for folder in [hive.home(), hive.run_dir()] {
            std::fs::create_dir(&folder).expect("a fresh directory");
        }
        hive.write_config();
        hive
    }

    /// Takes other settings before `hived` is started.
    pub fn replace_setup(&mut self, setup: Setup) {
        assert!(self.daemon.is_none(), "hived runs already");
        self.setup = setup;
        self.write_config();
    }

    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("h")
    }

    #[must_use]
    pub fn run_dir(&self) -> PathBuf {
        self.dir.path().join("r")
    }

    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.dir.path().join("hived.out")
    }

    #[must_use]
    pub fn operator_socket(&self) -> PathBuf {
        self.run_dir().join("operator.sock")
    }

    /// The folder with one agent's sockets.
    #[must_use]
    pub fn agent_sockets(&self, name: &str) -> PathBuf {
        self.run_dir().join("agents").join(name)
    }

    /// Writes `hive.toml` anew from the set-up.
    pub fn write_config(&self) {
        self.setup.write_files(&self.home(), self.dir.path());
    }

    /// The command line of this hive's `hived`.
    #[must_use]
    pub fn hived_command(&self) -> Command {
        self.hived_command_at(&self.run_dir())
    }

    /// The same with another socket directory.
    #[must_use]
    pub fn hived_command_at(&self, run: &Path) -> Command {
        let mut command = Command::new(programs::hived());
        self.hived_args(&mut command, run);
        command
    }

    /// `hived` below a tracer or another wrapper.
    #[must_use]
    pub fn wrapped_command(&self, wrapper: &[&str]) -> Command {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(programs::hived());
        self.hived_args(&mut command, &self.run_dir());
        command
    }

    fn hived_args(&self, command: &mut Command, run: &Path) {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HIVE_")) {
            command.env_remove(name);
        }
        command.arg("--home").arg(self.home());
        command.arg("--run").arg(run);
        command.args(["--listen", "127.0.0.1:0"]);
        command.args(["--runtime", self.setup.runtime.word()]);
        command.envs(self.setup.env.iter().map(|(name, value)| (name, value)));
    }

    /// What `hived` wrote to its output.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log_path()).unwrap_or_default()).into_owned()
    }

    #[must_use]
    pub fn operator(&self) -> Operator {
        client::operator(&self.operator_socket())
    }

    /// A client on an agent's own socket.
    #[must_use]
    pub fn agent(&self, name: &str) -> Agent {
        client::agent(&self.agent_sockets(name).join("broker.sock"))
    }

    /// A manager's further client on its own socket.
    #[must_use]
    pub fn manager(&self, name: &str) -> Manager {
        client::manager(&self.agent_sockets(name).join("broker.sock"))
    }

    /// Runs the `hive` command as the operator.
    pub async fn hive(&self, args: &[&str]) -> Ran {
        self.hive_with(args, None).await
    }

    /// Runs the `hive` command with this text on its stdin.
    pub async fn hive_with(&self, args: &[&str], stdin: Option<&str>) -> Ran {
        let (home, run_dir) = (self.home(), self.run_dir());
        let env = [
            ("HIVE_HOME", home.to_str().unwrap_or_default()),
            ("HIVE_RUN", run_dir.to_str().unwrap_or_default()),
            ("NO_COLOR", "1"),
        ];
        run(&programs::hive(), args, &env, stdin).await
    }

    /// Runs the `hive` command as a process beside an agent: on its socket.
    pub async fn hive_as(&self, name: &str, args: &[&str]) -> Ran {
        let socket = self.agent_sockets(name).join("broker.sock");
        let env = [("HIVE_SOCKET", socket.to_str().unwrap_or_default())];
        run(&programs::hive(), args, &env, None).await
    }

    /// Remembers a container to be removed at the end.
    pub fn remember(&mut self, name: &str) {
        self.created.push(name.to_owned());
    }

    /// A name that no other hive on the same engine uses: containers share one name space.
    #[must_use]
    pub fn unique(&self, name: &str) -> String {
        let folder = self.dir.path().file_name().unwrap_or_default();
        let tail = folder.to_string_lossy().to_lowercase();
        format!("{name}-{tail}")
    }

    /// The container of an agent.
    #[must_use]
    pub fn container(&self, name: &str) -> String {
        format!("hive-{name}")
    }

    /// Whether agents run nothing of their own.
    #[must_use]
    pub fn is_by_hand(&self) -> bool {
        self.setup.is_by_hand()
    }
}

impl Drop for TestHive {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- end of hived's output ---\n{}",
                tail(&self.log_path(), 60)
            );
        }
        drop(self.daemon.take());
        for pid in self.agent_processes() {
            send(pid, Signal::KILL);
        }
        let containers: Vec<String> = self
            .created
            .iter()
            .map(|name| self.container(name))
            .collect();
        if self.setup.runtime == crate::builder::Runtime::Docker {
            docker::remove(&containers);
        }
        if std::env::var_os("HIVE_TEST_KEEP").is_some() {
            self.dir.disable_cleanup(true);
            eprintln!("kept: {}", self.dir.path().display());
        }
    }
}

/// The last lines of a file.
#[must_use]
pub fn tail(path: &Path, lines: usize) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    let skip = text.lines().count().saturating_sub(lines);
    text.lines().skip(skip).collect::<Vec<_>>().join("\n")
}
