//! The command line and environment of a harness that runs as a plain child.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::scan::{MARK_AGENT, MARK_HIVE, MARK_ID, MARK_SPEC};
use crate::runtime::Spec;

/// Passed on from the broker's own environment; nothing else is, least of all a credential.
const INHERITED: [&str; 6] = ["PATH", "LANG", "LC_ALL", "TZ", "RUST_LOG", "RUST_BACKTRACE"];

/// `hive serve --child` with the agent's directories in its environment.
pub(super) fn command(spec: &Spec, spec_hash: &str) -> Command {
    let mut command = Command::new(&spec.hive);
    command
        .args(["serve", "--child"])
        .env_clear()
        .current_dir(&spec.mounts.state)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    let mounts = &spec.mounts;
    let paths: [(&str, &Path); 6] = [
        ("HIVE_STATE_DIR", &mounts.state),
        ("HIVE_HARNESS_DIR", &mounts.harness),
        ("HIVE_RUN_DIR", &mounts.terminal),
        ("HIVE_SOCKET_DIR", &mounts.sockets),
        ("HOME", &mounts.home),
        ("PWD", &mounts.state),
    ];
    command.envs(paths);
    command.env("HIVE_SOCKET", mounts.sockets.join("broker.sock"));
    command.env("CLAUDE_CONFIG_DIR", mounts.home.join(".claude"));
    if let Some(engines) = &mounts.engines {
        command.env("HIVE_ENGINES_DIR", engines);
    }
    command
        .env(MARK_AGENT, spec.name.as_str())
        .env(MARK_HIVE, &spec.hive_id)
        .env(MARK_ID, spec.agent_id.to_string())
        .env(MARK_SPEC, spec_hash);
    command
}
