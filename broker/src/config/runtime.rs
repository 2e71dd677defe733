//! `[runtime]`: what holds the agents.

use std::str::FromStr;

use super::fields::Fields;
use toml::Table;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// Containers of a Docker engine: isolated.
    Docker,
    /// Plain child processes: no isolation.
    Process,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeConfig {
    pub kind: RuntimeKind,
    /// The engine's socket, `unix:///path`; empty = `DOCKER_HOST`, else Docker's own default.
    pub docker_host: String,
    /// Lets the `process` runtime run engines that a model drives, without any isolation.
    pub process_trusted: bool,
}

// === impl RuntimeKind ===

impl RuntimeKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Process => "process",
        }
    }
}

impl FromStr for RuntimeKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "docker" => Ok(Self::Docker),
            "process" => Ok(Self::Process),
            "nixos" => Err("the nixos runtime does not exist yet".into()),
            other => Err(format!("{other:?} is not a runtime: docker or process")),
        }
    }
}

// === impl RuntimeConfig ===

impl RuntimeConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "runtime", "runtime", faults);
        let kind = fields.parsed("kind", RuntimeKind::Docker, str::parse);
        let mut table = std::mem::take(fields.table());
        let mut docker = Fields::section(&mut table, "docker", "runtime.docker", fields.faults());
        let docker_host = docker.or("host", String::new());
        docker.finish();
        let mut process =
            Fields::section(&mut table, "process", "runtime.process", fields.faults());
        let process_trusted = process.or("trusted", false);
        process.finish();
        *fields.table() = table;
        fields.finish();
        Self {
            kind,
            docker_host,
            process_trusted,
        }
    }
}
