//! The files that Claude Code is started with, readable by the agent's user alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::mcp_check::SERVER;
use crate::engine::EngineEnv;

/// Texts of the files; equal texts mean that a running process need not be replaced for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Files {
    dir: PathBuf,
    system_prompt: String,
    settings: String,
    mcp_config: String,
}

/// The program removes transcripts that are older than this, the running conversation's too. An agent
/// may idle for long, so it never comes to that: `prune.rs` bounds them by number.
const TRANSCRIPT_DAYS: u32 = 36_500;

// === impl Files ===

impl Files {
    /// `ask_bash`: every Bash command is put to hive, also those that the program holds harmless.
    pub(super) fn new(env: &EngineEnv, ask_bash: bool) -> Self {
        let ask: &[&str] = if ask_bash { &["Bash"] } else { &[] };
        let settings = json!({
            "autoMemoryEnabled": false,
            "autoCompactEnabled": false,
            "cleanupPeriodDays": TRANSCRIPT_DAYS,
            "permissions": {"ask": ask},
        });
        Self {
            dir: env.run.clone(),
            system_prompt: env.system_prompt.clone(),
            settings: settings.to_string(),
            mcp_config: mcp_config(env).to_string(),
        }
    }

    pub(super) fn system_prompt_path(&self) -> PathBuf {
        self.dir.join("claude-system-prompt.md")
    }

    pub(super) fn settings_path(&self) -> PathBuf {
        self.dir.join("claude-settings.json")
    }

    pub(super) fn mcp_config_path(&self) -> PathBuf {
        self.dir.join("claude-mcp-config.json")
    }

    /// Writes all of them.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(super) fn write(&self) -> std::io::Result<()> {
        write_private(&self.system_prompt_path(), &self.system_prompt)?;
        write_private(&self.settings_path(), &self.settings)?;
        write_private(&self.mcp_config_path(), &self.mcp_config)
    }
}

fn mcp_config(env: &EngineEnv) -> Value {
    let authorization = format!("Bearer {}", env.mcp_token);
    let server = json!({
        "type": "http",
        "url": env.mcp_url,
        "headers": {"Authorization": authorization},
    });
    json!({"mcpServers": {SERVER: server}})
}

/// Replaces the file whole; a temporary file is made with mode 0600 under any umask.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
