//! `[agent]`: what an agent gets when nothing else is said.

use std::path::PathBuf;

use toml::Table;

use super::fields::Fields;
use super::size::parse_bytes;
use crate::runtime::Limits;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// Image reference of the Docker engine.
    pub image: String,
    /// Uid and gid inside the container; hived's own when hived is not root.
    pub uid: u32,
    /// `scripted` or `claude`.
    pub engine: String,
    pub model: String,
    /// The static `hive`; none = beside `hived`.
    pub hive_binary: Option<PathBuf>,
    pub limits: Limits,
}

// === impl AgentConfig ===

impl AgentConfig {
    pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Self {
        let mut fields = Fields::section(root, "agent", "agent", faults);
        let own = rustix::process::getuid();
        let uid = if own.is_root() { 10_001 } else { own.as_raw() };
        let config = Self {
            image: fields.or("image", "hive-agent:latest".to_owned()),
            uid: u32::try_from(fields.ranged("uid", uid.into(), 1..=u32::MAX.into()))
                .unwrap_or(uid),
            engine: fields.parsed("engine", "scripted".to_owned(), known_engine),
            model: fields.or("model", "haiku".to_owned()),
            hive_binary: fields.optional("hive_binary"),
            limits: read_limits(&mut fields),
        };
        if !own.is_root() && config.uid != uid {
            fields.fault("uid", "only root can run agents as another user");
        }
        fields.finish();
        config
    }
}

/// # Errors
/// When this hive has no such engine.
pub(crate) fn known_engine(word: &str) -> Result<String, String> {
    match word {
        "scripted" | "claude" => Ok(word.to_owned()),
        other => Err(format!("{other:?} is not an engine: scripted or claude")),
    }
}

fn read_limits(agent: &mut Fields<'_>) -> Limits {
    let mut table = std::mem::take(agent.table());
    let mut fields = Fields::section(&mut table, "limits", "agent.limits", agent.faults());
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let limits = Limits {
        memory_bytes: fields.parsed("memory", 4 << 30, parse_bytes),
        cpu_milli: signed(fields.ranged("cpu_milli", 2_000, 10..=1_000_000)),
        pids: signed(fields.ranged("pids", 512, 16..=100_000)),
        nofile: signed(fields.ranged("nofile", 4_096, 64..=1_000_000)),
        log_bytes: fields.parsed("log_size", 10_000_000, parse_bytes),
        log_files: signed(fields.ranged("log_files", 3, 1..=100)),
    };
    fields.finish();
    *agent.table() = table;
    limits
}
