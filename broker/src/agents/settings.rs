//! What the agents part was told at start, checked and prepared.

use std::path::PathBuf;
use std::time::Duration;

use super::binary::{self, BinaryError, Need};
use crate::config::{Config, RuntimeKind};
use crate::model::restart::Rule;
use crate::paths::Paths;
use crate::runtime::{Limits, Trust};

/// How long an agent has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);

/// Defaults and rules for every agent.
#[derive(Clone, Debug)]
pub struct Settings {
    pub paths: Paths,
    pub hive_id: String,
    pub image: String,
    pub uid: u32,
    pub engine: String,
    pub model: String,
    /// The window of the agents' models.
    pub context_window_tokens: u64,
    pub limits: Limits,
    /// The binary that new instances run.
    pub hive: PathBuf,
    pub trust: Trust,
    pub grace: Duration,
    pub rule: Rule,
}

// === impl Settings ===

impl Settings {
    /// Finds the binary and, for containers, keeps a copy of it.
    ///
    /// # Errors
    /// When there is no binary that the runtime can use.
    pub fn prepare(config: &Config, hive_id: String) -> Result<Self, BinaryError> {
        let agent = &config.agent;
        let configured = agent.hive_binary.as_deref();
        let hive = match config.runtime.kind {
            RuntimeKind::Docker => {
                let source = binary::find(configured, Need::Static)?;
                binary::keep(&source, &config.paths.bin())?
            }
            RuntimeKind::Process => binary::find(configured, Need::Any)?,
        };
        let isolated = config.runtime.kind == RuntimeKind::Docker;
        Ok(Self {
            paths: config.paths.clone(),
            hive_id,
            image: agent.image.clone(),
            uid: agent.uid,
            engine: agent.engine.clone(),
            model: agent.model.clone(),
            context_window_tokens: config.engine.context_window_tokens,
            limits: agent.limits,
            hive,
            trust: if isolated || config.runtime.process_trusted {
                Trust::Everything
            } else {
                Trust::ScriptedOnly
            },
            grace: GRACE,
            rule: config.limits.restarts,
        })
    }
}
