//! The hive.toml that a hive without one gets: its runtime, and where to read on.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::super::CliError;
use super::{EngineArg, RuntimeArg};

/// Writes it unless another process was faster.
pub(super) fn write(home: &Path, runtime: RuntimeArg, engine: EngineArg) -> Result<(), CliError> {
    let path = home.join("hive.toml");
    let cannot = |error| CliError::failed(format!("cannot write {}: {error}", path.display()));
    let opened = File::options()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path);
    match opened {
        Ok(mut file) => file
            .write_all(text(runtime, engine).as_bytes())
            .map_err(cannot),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(cannot(error)),
    }
}

fn text(runtime: RuntimeArg, engine: EngineArg) -> String {
    format!(
        "\
# Written by `hive up`. Every setting and its default: docs/hive-toml.md.
# hived reads it when it starts.

[runtime]
# What holds the agents: docker (isolated containers) or process (no isolation at all).
kind = \"{}\"

[agent]
# What runs the turns of agents that name none: claude, or scripted (plays a script, asks no model).
{}

[gateway]
# Where hived reads the model's key. Without any of these it is the variable ANTHROPIC_API_KEY of
# hived's own environment. The key itself never stands here, and no agent ever sees it.
# key_file = \"/etc/hive/model-key\"
# key_env = \"MY_KEY\"
",
        runtime.word(),
        match engine {
            EngineArg::Claude => "engine = \"claude\"",
            // The default; left open, so that the next `hive up` takes claude once it can work.
            EngineArg::Scripted => "# engine = \"claude\"",
        }
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::hive_toml::HiveToml;
    use super::{EngineArg, RuntimeArg, write};

    #[test]
    fn what_is_written_is_read_back_and_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), RuntimeArg::Process, EngineArg::Scripted).unwrap();
        write(dir.path(), RuntimeArg::Docker, EngineArg::Claude).unwrap();
        let file = HiveToml::read(dir.path()).unwrap();
        assert_eq!(file.runtime(), Some("process"));
        assert_eq!(file.engine(), None);
        assert_eq!(file.credential(), None);
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), RuntimeArg::Docker, EngineArg::Claude).unwrap();
        let file = HiveToml::read(dir.path()).unwrap();
        assert_eq!(file.engine(), Some("claude"));
    }
}
