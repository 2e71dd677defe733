//! From flags, environment and file to one checked [`Config`].

use std::net::SocketAddr;
use std::path::PathBuf;

use toml::Table;

use super::agent::AgentConfig;
use super::disk;
use super::engine::EngineConfig;
use super::fields::Fields;
use super::gateway::GatewayConfig;
use super::limits::LimitsConfig;
use super::notify;
use super::runtime::{RuntimeConfig, RuntimeKind};
use crate::model::disk::Thresholds;
use crate::notify::Channel;
use crate::paths::{Paths, RunTooDeep};

/// What `hived` was told on its command line; empty fields were not given.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub home: Option<PathBuf>,
    pub run: Option<PathBuf>,
    pub listen: Option<SocketAddr>,
    pub config: Option<PathBuf>,
    pub runtime: Option<RuntimeKind>,
}

/// Everything that `hived` was told, checked.
#[derive(Clone, Debug)]
pub struct Config {
    pub paths: Paths,
    pub listen: SocketAddr,
    /// Uids beside root and hived's own that may use the operator socket.
    pub operators: Vec<u32>,
    pub runtime: RuntimeConfig,
    pub agent: AgentConfig,
    pub engine: EngineConfig,
    pub gateway: GatewayConfig,
    pub limits: LimitsConfig,
    /// When the operator is told that room is running out.
    pub disk: Thresholds,
    /// Where the operator is told off-screen.
    pub notify: Vec<Channel>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{file} has {count} fault(s):{list}", file = file.display(), count = faults.len(), list = list(faults))]
    Faults { file: PathBuf, faults: Vec<String> },
    #[error("{file} cannot be read: {why}", file = file.display())]
    Unreadable { file: PathBuf, why: String },
    #[error("{0}; give a shorter --run")]
    RunTooDeep(#[from] RunTooDeep),
    #[error("no home directory is known: set HIVE_HOME or HOME")]
    NoHome,
}

// === impl Config ===

impl Config {
    /// # Errors
    /// Every fault of the file at once, each with its key.
    pub fn load(flags: Flags) -> Result<Self, ConfigError> {
        let home = flags
            .home
            .clone()
            .or_else(|| env_path("HIVE_HOME"))
            .map_or_else(default_home, Ok)?;
        let run = flags
            .run
            .clone()
            .or_else(|| env_path("HIVE_RUN"))
            .unwrap_or_else(default_run);
        let paths = Paths::new(absolute(home), absolute(run))?;
        let file = flags.config.clone().unwrap_or_else(|| paths.config());
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && flags.config.is_none() =>
            {
                String::new()
            }
            Err(error) => {
                return Err(ConfigError::Unreadable {
                    file,
                    why: error.to_string(),
                });
            }
        };
        Self::parse(&text, paths, &flags).map_err(|faults| ConfigError::Faults { file, faults })
    }

    /// # Errors
    /// Every fault at once.
    pub fn parse(text: &str, paths: Paths, flags: &Flags) -> Result<Self, Vec<String>> {
        let mut table: Table = toml::from_str(text)
            .map_err(|error| vec![error.to_string().trim().replace('\n', " ")])?;
        let mut faults = Vec::new();
        let mut runtime = RuntimeConfig::read(&mut table, &mut faults);
        let agent = AgentConfig::read(&mut table, &mut faults);
        let engine = EngineConfig::read(&mut table, &mut faults);
        let gateway = GatewayConfig::read(&mut table, &mut faults);
        let limits = LimitsConfig::read(&mut table, &mut faults);
        let disk = disk::read(&mut table, &mut faults);
        let notify = notify::read(&mut table, &mut faults);
        let mut root = Fields::root(table, &mut faults);
        let listen = root.or("listen", SocketAddr::from(([127, 0, 0, 1], 7070)));
        let operators = root.or("operators", Vec::new());
        root.finish();
        let listen = flags.listen.unwrap_or(listen);
        if !listen.ip().is_loopback() {
            faults.push(format!(
                "listen: {listen} is not a loopback address; there is no login yet"
            ));
        }
        if let Some(kind) = flags.runtime {
            runtime.kind = kind;
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            paths,
            listen,
            operators,
            runtime,
            agent,
            engine,
            gateway,
            limits,
            disk,
            notify,
        })
    }
}

/// The data directory when none is given: `/var/lib/hive` for root, else `~/.local/share/hive`.
fn default_home() -> Result<PathBuf, ConfigError> {
    if rustix::process::getuid().is_root() {
        return Ok("/var/lib/hive".into());
    }
    env_path("HOME")
        .map(|home| home.join(".local/share/hive"))
        .ok_or(ConfigError::NoHome)
}

/// The socket directory when none is given: `/run/hive` for root, else `$XDG_RUNTIME_DIR/hive`, else
/// `/tmp/hive-<uid>`.
fn default_run() -> PathBuf {
    let uid = rustix::process::getuid();
    if uid.is_root() {
        return "/run/hive".into();
    }
    env_path("XDG_RUNTIME_DIR").map_or_else(
        || format!("/tmp/hive-{}", uid.as_raw()).into(),
        |dir| dir.join("hive"),
    )
}

fn env_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Mounts and sockets need absolute paths.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn list(faults: &[String]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Config, Flags};
    use crate::config::RuntimeKind;
    use crate::paths::Paths;

    fn parse(text: &str) -> Result<Config, Vec<String>> {
        let paths = Paths::new("/h".into(), "/r".into()).unwrap();
        Config::parse(text, paths, &Flags::default())
    }

    #[test]
    fn an_empty_file_is_a_hive() {
        let config = parse("").unwrap();
        assert_eq!(config.runtime.kind, RuntimeKind::Docker);
        assert_eq!(config.agent.limits.memory_bytes, 4 << 30);
        assert_eq!(config.engine.idle_secs, 90);
        assert_eq!(config.listen.to_string(), "127.0.0.1:7070");
    }

    #[test]
    fn every_fault_is_reported_at_once_with_its_key() {
        let faults = parse(
            r#"
            listen = "0.0.0.0:80"
            colour = "red"
            [runtime]
            kind = "nixos"
            [runtime.docker]
            sockett = "x"
            [agent]
            engine = "gpt"
            [agent.limits]
            memory = "much"
            pids = 1
            [engine]
            idle_secs = "soon"
            script = "[[rule]]\nnonsense = 1"
            [gateway]
            upstream = "ftp://x"
            key_env = "A"
            key_file = "/b"
            "#,
        )
        .unwrap_err();
        for key in [
            "listen:",
            "colour:",
            "runtime.kind: the nixos runtime does not exist yet",
            "runtime.docker.sockett:",
            "agent.engine:",
            "agent.limits.memory:",
            "agent.limits.pids:",
            "engine.idle_secs:",
            "engine.script:",
            "gateway.upstream:",
            "gateway.key_env:",
        ] {
            assert!(
                faults.iter().any(|fault| fault.starts_with(key)),
                "no {key} in {faults:#?}"
            );
        }
        assert_eq!(faults.len(), 11, "{faults:#?}");
    }

    /// docs/hive-toml.md is the reference: whoever adds a key adds its row.
    #[test]
    fn every_key_is_documented() {
        let docs = include_str!("../../../docs/hive-toml.md");
        for source in [
            include_str!("agent.rs"),
            include_str!("engine.rs"),
            include_str!("gateway.rs"),
            include_str!("limits.rs"),
            include_str!("runtime.rs"),
            include_str!("load.rs")
                .split("#[cfg(test)]")
                .next()
                .unwrap(),
        ] {
            for reader in [
                "ranged(",
                "optional(",
                "parsed(",
                ".or(",
                "secs(",
                "String>(",
                "PathBuf>(",
            ] {
                for part in source.split(reader).skip(1) {
                    let Some(key) = part.trim_start().strip_prefix('"') else {
                        continue;
                    };
                    let key = key.split('"').next().unwrap();
                    assert!(
                        docs.contains(&format!("`{key}`")),
                        "{key} is not in hive-toml.md"
                    );
                }
            }
        }
    }
}
