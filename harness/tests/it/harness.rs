//! The real `hive serve` as a child of the test.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use hive_proto::v1::EngineConfig;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::fake::{Fake, SOON};

/// A broker, a harness on its socket, and their directories.
pub(crate) struct Served {
    pub(crate) fake: Fake,
    pub(crate) dir: TempDir,
    child: Child,
}

// === impl Served ===

impl Served {
    /// Starts a harness that plays `script`.
    pub(crate) fn start(script: &str) -> Self {
        Self::start_with(EngineConfig {
            engine: "scripted".to_owned(),
            script: script.to_owned(),
            ..EngineConfig::default()
        })
    }

    pub(crate) fn start_with(engine: EngineConfig) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake = Fake::new(dir.path());
        fake.record().engine = engine;
        let child = serve(dir.path(), fake.socket());
        Self { fake, dir, child }
    }

    /// Another `hive serve` on the same socket, after the first one has ended.
    pub(crate) fn again(&mut self) {
        self.child = serve(self.dir.path(), self.fake.socket());
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    pub(crate) async fn exit(&mut self) -> ExitStatus {
        let exit = tokio::time::timeout(SOON, self.child.wait()).await;
        exit.expect("the harness did not end").unwrap()
    }
}

fn serve(dir: &Path, socket: &Path) -> Child {
    let at = |name: &str| {
        let path = dir.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    Command::new(env!("CARGO_BIN_EXE_hive"))
        .arg("serve")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HIVE_AGENT", "bob")
        .env("HIVE_SOCKET", socket)
        .env("HIVE_STATE_DIR", at("state"))
        .env("HIVE_HARNESS_DIR", at("harness"))
        .env("HIVE_RUN_DIR", at("run"))
        .env("HIVE_ENGINES_DIR", at("engines"))
        .env("HOME", at("home"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
