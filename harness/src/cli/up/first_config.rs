//! The hive.toml that a hive without one gets: its runtime, and where to read on.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::super::CliError;
use super::RuntimeArg;

/// Writes it unless another process was faster.
pub(super) fn write(home: &Path, runtime: RuntimeArg) -> Result<(), CliError> {
    let path = home.join("hive.toml");
    let cannot = |error| CliError::failed(format!("cannot write {}: {error}", path.display()));
    let opened = File::options()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path);
    match opened {
        Ok(mut file) => file.write_all(text(runtime).as_bytes()).map_err(cannot),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(cannot(error)),
    }
}

fn text(runtime: RuntimeArg) -> String {
    format!(
        "\
# Written by `hive up`. Every setting and its default: docs/hive-toml.md.
# hived reads it when it starts.

# What holds the agents: docker (isolated containers) or process (no isolation at all).
runtime = \"{}\"
",
        runtime.word()
    )
}
