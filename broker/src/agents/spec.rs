//! From an agent's row to what its instance is made from, and the directories that it needs.

use std::io;

use hive_proto::words;

use super::settings::Settings;
use crate::dirs;
use crate::runtime::{Mounts, Spec};
use crate::store::agents::AgentRow;

/// The spec of an agent whose parent is called `parent`.
pub(super) fn build(settings: &Settings, row: &AgentRow, parent: &str) -> Spec {
    let engines = settings.paths.engines();
    Spec {
        agent_id: row.id,
        name: row.name.clone(),
        engine: row.engine.clone(),
        uid: settings.uid,
        image: image(settings, row),
        hive: settings.hive.clone(),
        mounts: Mounts {
            engines: engines.is_dir().then_some(engines),
            ..mounts(settings, row)
        },
        env: environment(settings, row, parent),
        limits: settings.limits,
        config_sha: row.config_sha.clone(),
        hive_id: settings.hive_id.clone(),
    }
}

/// The image reference that the agent runs.
pub(super) fn image(settings: &Settings, row: &AgentRow) -> String {
    if row.image.is_empty() {
        settings.image.clone()
    } else {
        row.image.clone()
    }
}

fn mounts(settings: &Settings, row: &AgentRow) -> Mounts {
    let home = settings.paths.agent_home(&row.name);
    Mounts {
        sockets: settings.paths.agent_sockets(&row.name),
        terminal: settings.paths.agent_terminal(&row.name),
        state: home.join("state"),
        home: home.join("home"),
        harness: home.join("harness"),
        engines: None,
    }
}

/// What every runtime sets; sorted by name, never a secret.
fn environment(settings: &Settings, row: &AgentRow, parent: &str) -> Vec<(String, String)> {
    let window = settings.context_window_tokens.to_string();
    let pairs = [
        ("HIVE_AGENT", row.name.as_str()),
        ("HIVE_CONTEXT_WINDOW_TOKENS", &window),
        ("HIVE_DEFAULT_MODEL", &row.model),
        ("HIVE_LABEL", row.name.as_str()),
        ("HIVE_PARENT", parent),
        ("HIVE_ROLE", words::role(row.role)),
    ];
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Makes the agent's own directories, which belong to its user. Those of its sockets are not among
/// them: whoever listens there makes them.
pub(super) fn make_directories(settings: &Settings, row: &AgentRow) -> io::Result<()> {
    let own = settings.paths.agent_home(&row.name);
    let terminals = settings.paths.run().join("terminals");
    dirs::private(&settings.paths.home().join("agents"))?;
    dirs::private(&own)?;
    dirs::private(&terminals)?;
    let mounts = mounts(settings, row);
    for path in [
        &mounts.state,
        &mounts.home,
        &mounts.harness,
        &mounts.terminal,
    ] {
        dirs::private_of(path, settings.uid)?;
    }
    Ok(())
}
