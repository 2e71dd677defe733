//! Deletes a tree that somebody else has written: whatever it holds, nothing outside of it is touched.
//!
//! Every step goes through an open directory and follows no link. Directories inside directories are
//! moved up before they are emptied, so that neither stack nor descriptors grow with the depth: a
//! program can nest directories far deeper than any path is long.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;

/// Deletes what is at `path`; nothing there is success. Of a link only the link goes.
///
/// # Errors
/// When something in it cannot be deleted; what was before it is gone.
pub fn erase(path: &Path) -> io::Result<()> {
    match open(CWD, path) {
        Ok(root) => {
            empty(&root)?;
            unlinkat(CWD, path, AtFlags::REMOVEDIR)?;
        }
        Err(Errno::NOENT) => {}
        Err(Errno::NOTDIR | Errno::LOOP) => unlinkat(CWD, path, AtFlags::empty())?,
        Err(errno) => return Err(errno.into()),
    }
    Ok(())
}

fn open(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

/// Deletes everything in `root`.
fn empty(root: &OwnedFd) -> Result<(), Errno> {
    // Names that nothing in the tree has.
    let prefix = uuid::Uuid::new_v4().simple().to_string();
    let mut moved: u64 = 0;
    // What is moved up, and what a pass over a changing directory missed, is met by the next pass.
    while each(root, |name| {
        if is_unlinked(root, name)? {
            return Ok(());
        }
        let dir = open(root, name)?;
        each(&dir, |inner| {
            if !is_unlinked(&dir, inner)? && !is_removed(&dir, inner)? {
                moved += 1;
                let to = format!("{prefix}-{moved}");
                renameat_with(&dir, inner, root, to, RenameFlags::NOREPLACE)?;
            }
            Ok(())
        })?;
        unlinkat(root, name, AtFlags::REMOVEDIR)
    })? {}
    Ok(())
}

/// Does something with each name in a directory; whether there was any.
fn each(dir: &OwnedFd, mut act: impl FnMut(&CStr) -> Result<(), Errno>) -> Result<bool, Errno> {
    let mut any = false;
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            any = true;
            act(name)?;
        }
    }
    Ok(any)
}

/// Deletes what is no directory.
fn is_unlinked(dir: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Deletes a directory if it is empty.
fn is_removed(dir: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    match unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};

    use super::erase;

    #[test]
    fn nothing_outside_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir_all(outside.join("deep")).unwrap();
        fs::write(outside.join("deep/file"), "precious").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        for at in ["", "a", "a/b", "a/b/c"] {
            let at = tree.join(at);
            symlink(&outside, at.join("to-directory")).unwrap();
            symlink(outside.join("deep/file"), at.join("to-file")).unwrap();
            symlink("..", at.join("to-parent")).unwrap();
            fs::hard_link(outside.join("deep/file"), at.join("hard")).unwrap();
            mknodat(CWD, at.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
            fs::write(at.join("file"), "x").unwrap();
        }
        erase(&tree).unwrap();
        assert!(!tree.exists());
        let file = outside.join("deep/file");
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        assert_eq!(fs::metadata(&file).unwrap().nlink(), 1);
        // A link in the tree's own place goes alone.
        symlink(&outside, &tree).unwrap();
        erase(&tree).unwrap();
        assert!(tree.symlink_metadata().is_err() && file.exists());
        // Nothing is left to do the second time.
        erase(&tree).unwrap();
    }

    /// Makes a chain of directories, deeper than any path can say.
    fn dig(root: &Path, depth: u32) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, root, flags, Mode::empty()).unwrap();
        for _ in 0..depth {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", flags, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn no_depth_uses_up_the_stack_or_the_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("state")).unwrap();
        dig(&tree.join("state"), 3_000);
        // So small that a hundred bytes a level overrun it.
        let stack = std::thread::Builder::new().stack_size(128 << 10);
        let gone = tree.clone();
        let erased = stack.spawn(move || erase(&gone)).unwrap().join().unwrap();
        erased.unwrap();
        assert!(!tree.exists());
    }
}
