//! What a test hive is made of: runtime, engine rules, settings of `hive.toml`.

use std::path::{Path, PathBuf};

use crate::hive::TestHive;
use crate::programs;

/// What holds the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Runtime {
    #[default]
    Process,
    Docker,
}

/// A hive to be started.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    pub(crate) runtime: Runtime,
    /// Rules of the scripted engine for agents that bring none of their own.
    script: String,
    /// Rules of the scripted upstream; empty: none.
    upstream: String,
    /// Further text of `hive.toml`.
    config: toml::Table,
    pub(crate) env: Vec<(String, String)>,
    harness: Harness,
}

/// What an agent's process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Harness {
    #[default]
    Real,
    /// Something that idles, so that the test can be the harness.
    ByHand,
}

// === impl Runtime ===

impl Runtime {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Docker => "docker",
        }
    }
}

// === impl Setup ===

impl Setup {
    #[must_use]
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// Rules of the scripted engine, as TOML.
    #[must_use]
    pub fn script(mut self, rules: &str) -> Self {
        rules.clone_into(&mut self.script);
        self
    }

    /// Sets `section.key` of `hive.toml`.
    #[must_use]
    pub fn set(mut self, path: &str, value: impl Into<toml::Value>) -> Self {
        let mut table = &mut self.config;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                table.insert(part.to_owned(), value.into());
                break;
            }
            table = table
                .entry(part)
                .or_insert_with(|| toml::Table::new().into())
                .as_table_mut()
                .expect("a section");
        }
        self
    }

    /// Model calls are answered from these rules instead of a server.
    #[must_use]
    pub fn scripted_upstream(mut self, rules: &str) -> Self {
        rules.clone_into(&mut self.upstream);
        self
    }

    /// Memory limit of each agent.
    #[must_use]
    pub fn memory(self, limit: &str) -> Self {
        self.set("agent.limits.memory", limit)
    }

    /// A variable of `hived`'s environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Agents run nothing: the test opens their sessions itself.
    #[must_use]
    pub fn by_hand(mut self) -> Self {
        self.harness = Harness::ByHand;
        self
    }

    pub(crate) fn is_by_hand(&self) -> bool {
        self.harness == Harness::ByHand
    }

    /// Makes the directories and starts `hived`.
    pub async fn start(self) -> TestHive {
        let mut hive = TestHive::prepare(self);
        hive.start().await;
        hive
    }

    /// Makes the directories; the test starts `hived` itself.
    #[must_use]
    pub fn prepare(self) -> TestHive {
        TestHive::prepare(self)
    }

    /// What agents run as their `hive`.
    fn hive_binary(&self, folder: &Path) -> PathBuf {
        match (self.harness, self.runtime) {
            (Harness::ByHand, _) => stub(folder),
            (Harness::Real, Runtime::Process) => programs::hive(),
            (Harness::Real, Runtime::Docker) => programs::static_hive(),
        }
    }

    /// Writes `hive.toml` and the files that it names into `home`; `folder` is for what is not hive's.
    pub(crate) fn write_files(&self, home: &Path, folder: &Path) {
        let mut setup = self.clone();
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        if !setup.script.is_empty() {
            let script = std::mem::take(&mut setup.script);
            setup = setup.set("engine.script", script);
        }
        if !setup.upstream.is_empty() {
            let file = folder.join("upstream.toml");
            write(&file, &setup.upstream);
            setup = setup.set("gateway.scripted", path(file));
        }
        if !setup.config.contains_key("disk") {
            // How full the disk of the tests is, is not their business.
            setup = setup.set("disk.low", "1KiB");
        }
        let binary = self.hive_binary(folder);
        setup = setup.set("agent.hive_binary", path(binary));
        let text = toml::to_string(&setup.config).expect("a table is TOML");
        write(&home.join("hive.toml"), &text);
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A program that idles until it or its parent is ended, as a harness does.
fn stub(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("stub");
    write(
        &path,
        "#!/bin/bash\nexec setpriv --pdeathsig KILL sleep infinity\n",
    );
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}
