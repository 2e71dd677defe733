//! Long bodies go to a file in the agent's inbox directory, since a prompt should stay short.
//!
//! The directory is the agent's own: it may have put a link or a device where the file goes. The
//! harness runs as the same user, so nothing can be gained by it, but it must not hang or follow.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hive_proto::limits::SPILL_BYTES;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Writes `body` to `<state>/inbox/<id>.md` if it is long; `None` when it fits a prompt.
///
/// # Errors
/// When the file cannot be written, for example because the disk is full.
pub fn spill(state: &Path, id: i64, body: &str) -> std::io::Result<Option<PathBuf>> {
    if body.len() <= SPILL_BYTES {
        return Ok(None);
    }
    let inbox = inbox(state)?;
    let (name, part) = (format!("{id}.md"), format!(".{id}.md.part"));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match unlinkat(&inbox, &part, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let file = openat(&inbox, &part, flags, Mode::RUSR | Mode::WUSR)?;
    let mut file = std::fs::File::from(file);
    file.write_all(body.as_bytes())?;
    renameat(&inbox, &part, &inbox, &name)?;
    Ok(Some(state.join("inbox").join(name)))
}

/// The inbox directory, made if it is not there; never through a link.
fn inbox(state: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let state = openat(
        CWD,
        state,
        OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    match mkdirat(&state, "inbox", Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(&state, "inbox", flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use hive_proto::limits::SPILL_BYTES;

    use super::spill;

    #[test]
    fn only_long_bodies_are_spilled() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            spill(dir.path(), 1, &"a".repeat(SPILL_BYTES)).unwrap(),
            None
        );
        assert!(!dir.path().join("inbox").exists());
        let long = "a".repeat(SPILL_BYTES + 1);
        let path = spill(dir.path(), 2, &long).unwrap().unwrap();
        assert_eq!(path, dir.path().join("inbox/2.md"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), long);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_redelivery_writes_it_again() {
        let dir = tempfile::tempdir().unwrap();
        let long = "b".repeat(SPILL_BYTES + 1);
        spill(dir.path(), 3, &"a".repeat(SPILL_BYTES + 1)).unwrap();
        let path = spill(dir.path(), 3, &long).unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), long);
    }

    #[test]
    fn links_are_replaced_or_refused_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::create_dir(dir.path().join("inbox")).unwrap();
        for name in ["4.md", ".4.md.part"] {
            symlink(outside.path(), dir.path().join("inbox").join(name)).unwrap();
        }
        spill(dir.path(), 4, &"a".repeat(SPILL_BYTES + 1)).unwrap();
        assert_eq!(outside.path().metadata().unwrap().len(), 0);

        let linked = tempfile::tempdir().unwrap();
        symlink(dir.path(), linked.path().join("inbox")).unwrap();
        assert!(spill(linked.path(), 5, &"a".repeat(SPILL_BYTES + 1)).is_err());
    }
}
