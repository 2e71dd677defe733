//! How Claude Code is started: the program, its arguments and its environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use hive_proto::v1::{FailureClass, ToolRule};

use super::files::Files;
use super::permission::{BUILTINS, Rule};
use super::session::Session;
use crate::engine::EngineEnv;
use crate::engine::installed;

/// Model when the configuration names none.
const DEFAULT_MODEL: &str = "haiku";

/// How often the program itself repeats a failed model call; what lasts longer is hive's business.
const RETRIES: &str = "2";

/// Longest call of a tool: above the 180 s that `recv` may wait.
const TOOL_TIMEOUT_MS: &str = "240000";

/// Everything that a process is started with, but the conversation. Two equal ones mean that a
/// running process may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: PathBuf,
    /// The program's own directory for temporary files, sockets and the output of commands.
    pub(super) tmp: PathBuf,
    pub(super) config_dir: PathBuf,
    files: Files,
    /// The program lists hive's tools once, when it starts.
    tools: ToolRule,
}

/// Why nothing can be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    #[error("no claude engine is installed: run `hive engine install claude` on the host")]
    NotInstalled,
    #[error("the directory for temporary files {0} belongs to somebody else")]
    ForeignTmp(PathBuf),
    #[error("cannot prepare claude's files: {0}")]
    Io(#[from] std::io::Error),
}

// === impl LaunchError ===

impl LaunchError {
    /// Whether somebody must act first. A full disk or a lack of processes passes: what was asked for
    /// runs again later.
    pub(super) fn class(&self) -> FailureClass {
        match self {
            Self::NotInstalled | Self::ForeignTmp(_) => FailureClass::Config,
            Self::Io(_) => FailureClass::Crashed,
        }
    }
}

// === impl Launch ===

impl Launch {
    /// Works out what to start; touches nothing. `inherited` is the environment of this process.
    ///
    /// # Errors
    /// When no engine is installed.
    pub(super) fn new(
        env: &EngineEnv,
        rule: &Rule,
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, LaunchError> {
        let engine = installed::newest(&env.engines, "claude").ok_or(LaunchError::NotInstalled)?;
        let files = Files::new(env, !rule.allowed_tools().contains("Bash"));
        let inherited: Vec<_> = inherited.into_iter().collect();
        let tmp = tmp_dir(&inherited, &env.run);
        let config_dir = look_up(&inherited, "CLAUDE_CONFIG_DIR")
            .map_or_else(|| env.home.join(".claude"), PathBuf::from);
        Ok(Self {
            program: engine.program,
            args: arguments(env, rule, &files),
            env: environment(env, &inherited, &tmp, &config_dir),
            cwd: env.state.clone(),
            tmp,
            config_dir,
            files,
            tools: env.tools.clone(),
        })
    }

    /// Makes the directories and writes the files.
    ///
    /// # Errors
    /// When a file cannot be written or the directory for temporary files is not ours.
    pub(super) fn prepare(&self) -> Result<(), LaunchError> {
        self.files.write()?;
        let made = std::fs::DirBuilder::new().mode(0o700).create(&self.tmp);
        match made {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let meta = std::fs::symlink_metadata(&self.tmp)?;
                let ours = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
                match ours {
                    true => Ok(()),
                    false => Err(LaunchError::ForeignTmp(self.tmp.clone())),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The arguments for `session`: resumed when the program has a transcript of it, else begun.
    pub(super) fn args_for(&self, session: &Session) -> Vec<OsString> {
        let flag = match session.has_transcript(&self.config_dir) {
            true => "--resume",
            false => "--session-id",
        };
        let mut args = self.args.clone();
        args.extend([flag.into(), session.id.to_string().into()]);
        args
    }
}

fn arguments(env: &EngineEnv, rule: &Rule, files: &Files) -> Vec<OsString> {
    let model = match env.config.model.as_str() {
        "" => DEFAULT_MODEL,
        model => model,
    };
    let mut args: Vec<OsString> = [
        "--print",
        "--verbose",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--permission-prompt-tool",
        "stdio",
        "--strict-mcp-config",
        // Otherwise a changed prompt would be ignored when a conversation is resumed.
        "--system-prompt-snapshot",
        "off",
    ]
    .map(OsString::from)
    .to_vec();
    let mut pair = |flag: &str, value: OsString| args.extend([flag.into(), value]);
    pair("--mcp-config", files.mcp_config_path().into());
    pair("--system-prompt-file", files.system_prompt_path().into());
    pair("--settings", files.settings_path().into());
    pair("--tools", BUILTINS.join(",").into());
    pair("--allowedTools", rule.allowed_tools().into());
    pair("--model", model.into());
    args
}

fn environment(
    env: &EngineEnv,
    inherited: &[(OsString, OsString)],
    tmp: &Path,
    config_dir: &Path,
) -> Vec<(OsString, OsString)> {
    let mut vars: Vec<(OsString, OsString)> = inherited
        .iter()
        .filter(|(name, _)| is_passed_on(name))
        .cloned()
        .collect();
    if look_up(&vars, "PATH").is_none() {
        vars.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    let mut set = |name: &str, value: &OsStr| vars.push((name.into(), value.to_owned()));
    set("HOME", env.home.as_os_str());
    set("TMPDIR", tmp.as_os_str());
    set("CLAUDE_CODE_TMPDIR", tmp.as_os_str());
    set("CLAUDE_CONFIG_DIR", config_dir.as_os_str());
    set("ANTHROPIC_BASE_URL", env.gateway_url.as_ref());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        set(name, env.gateway_url.as_ref());
    }
    for (name, value) in FIXED {
        set(name, value.as_ref());
    }
    vars
}

/// Set for every process. The key is a throw-away word: the gateway puts the real one in its place,
/// and the model's shell sees this environment.
const FIXED: [(&str, &str); 12] = [
    ("ANTHROPIC_API_KEY", "hive"),
    ("NO_PROXY", "127.0.0.1,localhost,::1"),
    ("no_proxy", "127.0.0.1,localhost,::1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", RETRIES),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("DISABLE_AUTO_COMPACT", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("MCP_TOOL_TIMEOUT", TOOL_TIMEOUT_MS),
    ("MCP_TIMEOUT", "30000"),
    ("ENABLE_TOOL_SEARCH", "false"),
];

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    matches!(
        name,
        "PATH" | "LANG" | "LC_ALL" | "TZ" | "SHELL" | "USER" | "LOGNAME"
    ) || name.starts_with("HIVE_")
}

fn look_up(vars: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    vars.iter()
        .find(|(key, value)| key == name && !value.is_empty())
        .map(|(_, value)| value.clone())
}

/// A short path of this agent's own: the program puts Unix sockets there, and in the `process`
/// runtime several agents share `/tmp`.
fn tmp_dir(inherited: &[(OsString, OsString)], run: &Path) -> PathBuf {
    let base = look_up(inherited, "TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let hash = Sha256::digest(run.as_os_str().as_encoded_bytes());
    let tag: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    base.join(format!("hive-claude-{tag}"))
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
