//! The directory of installed engines: its lock, its workshop, and how a version appears in it.
//!
//! Everything is made in a directory beside the finished ones and renamed into place, so a version
//! is there whole or not at all. What an interrupted install left is removed by the next one.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::error::InstallError;
use crate::engine::installed::{Installed, checksum_path, versions};

/// Beginning of the names of directories in which something is being made.
const PARTIAL: &str = ".partial-";

/// The directory, locked until this is dropped.
#[derive(Debug)]
pub(super) struct Shelf {
    engines: PathBuf,
    _lock: File,
}

// === impl Shelf ===

impl Shelf {
    /// Makes the directory if it is missing and waits until no other install runs in it.
    pub(super) fn open(engines: &Path) -> Result<Self, InstallError> {
        fs::create_dir_all(engines).map_err(InstallError::io(engines))?;
        // Agents read it under other user ids.
        fs::set_permissions(engines, fs::Permissions::from_mode(0o755))
            .map_err(InstallError::io(engines))?;
        let path = engines.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(InstallError::io(&path))?;
        lock.lock().map_err(InstallError::io(&path))?;
        let shelf = Self {
            engines: engines.to_owned(),
            _lock: lock,
        };
        shelf.sweep()?;
        Ok(shelf)
    }

    pub(super) fn find(&self, name: &str, version: &str) -> Option<Installed> {
        let found = versions(&self.engines, name).into_iter();
        let mut found = found.filter(|engine| engine.version == version);
        found
            .next()
            .filter(|engine| checksum_path(&engine.program).is_file())
    }

    /// A directory to make things in, removed when dropped.
    pub(super) fn workshop(&self) -> Result<TempDir, InstallError> {
        tempfile::Builder::new()
            .prefix(PARTIAL)
            .tempdir_in(&self.engines)
            .map_err(InstallError::io(&self.engines))
    }

    /// Moves the finished program `<workshop>/<name>` into place, with its hash beside it.
    pub(super) fn put(
        &self,
        workshop: &Path,
        name: &str,
        version: &str,
        sha256: &str,
    ) -> Result<PathBuf, InstallError> {
        let made = workshop.join("made");
        fs::create_dir(&made).map_err(InstallError::io(&made))?;
        let program = made.join(name);
        let moved = fs::rename(workshop.join(name), &program);
        moved.map_err(InstallError::io(&program))?;
        let checksum = checksum_path(&program);
        fs::write(&checksum, format!("{sha256}  {name}\n")).map_err(InstallError::io(&checksum))?;
        open_to_agents(&made)?;
        let home = self.engines.join(name);
        fs::create_dir_all(&home).map_err(InstallError::io(&home))?;
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755))
            .map_err(InstallError::io(&home))?;
        let target = home.join(version);
        if target.exists() {
            // Left unfinished by something else than this program.
            let broken = workshop.join("broken");
            fs::rename(&target, &broken).map_err(InstallError::io(&target))?;
        }
        fs::rename(&made, &target).map_err(InstallError::io(&target))?;
        Ok(target.join(name))
    }

    fn sweep(&self) -> Result<(), InstallError> {
        let entries = fs::read_dir(&self.engines).map_err(InstallError::io(&self.engines))?;
        for entry in entries.filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().starts_with(PARTIAL) {
                let path = entry.path();
                fs::remove_dir_all(&path).map_err(InstallError::io(&path))?;
            }
        }
        Ok(())
    }
}

/// Readable by all and writable by nobody else, under any umask.
fn open_to_agents(dir: &Path) -> Result<(), InstallError> {
    let entries = fs::read_dir(dir).map_err(InstallError::io(dir))?;
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let mode = if path.extension().is_some() {
            0o644
        } else {
            0o755
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(InstallError::io(&path))?;
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).map_err(InstallError::io(dir))
}
