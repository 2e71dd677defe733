//! Private directories, whatever the umask and whoever made them before.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Makes `path` and its parents, and gives `path` itself mode 0700.
///
/// # Errors
/// When it cannot be made, is not a directory, or belongs to another user.
pub fn private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let meta = std::fs::symlink_metadata(path)?;
    let own = rustix::process::getuid();
    if !meta.is_dir() {
        return Err(io::Error::other("is not a directory"));
    }
    if meta.uid() != own.as_raw() {
        return Err(io::Error::other(format!(
            "belongs to uid {}, not to {own}",
            meta.uid(),
            own = own.as_raw()
        )));
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// The same, then gives it to `uid` when hived is root.
///
/// # Errors
/// As [`private`].
pub fn private_of(path: &Path, uid: u32) -> io::Result<()> {
    let own = rustix::process::getuid();
    let theirs =
        std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid);
    if !theirs {
        private(path)?;
        if own.is_root() {
            std::os::unix::fs::chown(path, Some(uid), Some(uid))?;
        }
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}
