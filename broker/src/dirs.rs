//! Private directories, whatever the umask and whoever made them before.
//!
//! A directory is opened once, following no link at its end, and everything is asked of and done to
//! what was opened: whoever exchanges it meanwhile changes nothing.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, chownat, fstat, openat};
use rustix::io::Errno;

/// Makes `path` and its parents, and gives `path` itself mode 0700.
///
/// # Errors
/// When it cannot be made, is not a directory, or belongs to another user.
pub fn private(path: &Path) -> io::Result<()> {
    let dir = made(path)?;
    owned_by(&dir, &[rustix::process::getuid()])?;
    seal(&dir)
}

/// The same, then gives it to `uid` when hived is root.
///
/// # Errors
/// As [`private`].
pub fn private_of(path: &Path, uid: u32) -> io::Result<()> {
    let (own, theirs) = (rustix::process::getuid(), Uid::from_raw(uid));
    let dir = made(path)?;
    let owner = owned_by(&dir, &[own, theirs])?;
    if own.is_root() && owner != theirs {
        let group = Gid::from_raw(uid);
        chownat(&dir, "", Some(theirs), Some(group), AtFlags::EMPTY_PATH)?;
    }
    seal(&dir)
}

/// The directory itself: a link in its place is an error.
fn made(path: &Path) -> io::Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // Opened as a place only, so that one whose mode forbids everything can be mended.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => Err(io::Error::other("is not a directory")),
        opened => Ok(opened?),
    }
}

fn owned_by(dir: &OwnedFd, allowed: &[Uid]) -> io::Result<Uid> {
    let owner = Uid::from_raw(fstat(dir)?.st_uid);
    if allowed.contains(&owner) {
        return Ok(owner);
    }
    let own = rustix::process::getuid();
    Err(io::Error::other(format!(
        "belongs to uid {owner}, not to {own}",
        owner = owner.as_raw(),
        own = own.as_raw()
    )))
}

fn seal(dir: &OwnedFd) -> io::Result<()> {
    // A descriptor that is a place only has no fchmod; this names what it is open on.
    let itself = format!("/proc/self/fd/{}", dir.as_raw_fd());
    std::fs::set_permissions(itself, Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::{private, private_of};

    fn mode(path: &std::path::Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_directory_gets_its_mode_whatever_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        private(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        for before in [0o000, 0o777, 0o500] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            private(&path).unwrap();
            assert_eq!(mode(&path), 0o700, "{before:o}");
            private_of(&path, rustix::process::getuid().as_raw()).unwrap();
            assert_eq!(mode(&path), 0o700, "{before:o}");
        }
    }

    #[test]
    fn what_a_link_leads_to_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
        let before = fs::metadata(&outside).unwrap();
        let path = dir.path().join("link");
        symlink(&outside, &path).unwrap();
        // Another user's number: root would give it away.
        let other = before.uid() + 12_345;
        for refused in [
            private(&path),
            private_of(&path, other),
            private_of(&path, before.uid()),
        ] {
            assert_eq!(refused.unwrap_err().to_string(), "is not a directory");
        }
        let after = fs::metadata(&outside).unwrap();
        assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        assert!(private(&path).is_err());
    }
}
