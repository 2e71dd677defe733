//! Finds programs: beside `hive` itself, else in `$PATH`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// `hived`: beside this program, else in `$PATH`.
pub(super) fn hived() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own
        .as_deref()
        .and_then(Path::parent)
        .map(|dir| dir.join("hived"));
    beside
        .filter(|path| is_program(path))
        .or_else(|| in_path("hived"))
}

/// The first executable of this name in `$PATH`.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
