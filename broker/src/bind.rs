//! Unix listeners at a path: stale socket files are replaced, whatever is alive or no socket is left
//! alone.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat};
use tokio::net::UnixListener;

/// Whose a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `hived`'s own user.
    Own,
    /// The user with this uid.
    Uid(u32),
}

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{path} is served by another process", path = .0.display())]
    Alive(PathBuf),
    #[error("{path} is in the way: it is not a socket", path = .0.display())]
    NotASocket(PathBuf),
    #[error("{path} cannot be bound: {why}", path = path.display())]
    Failed { path: PathBuf, why: std::io::Error },
}

/// Binds `path` with exactly `mode`, whatever the umask.
///
/// # Errors
/// When the path is in use, is something else, or cannot be bound.
pub fn bind(path: &Path, mode: u32, owner: Owner) -> Result<UnixListener, BindError> {
    let failed = |why: std::io::Error| BindError::Failed {
        path: path.to_owned(),
        why,
    };
    clear(path)?;
    let listener = std::os::unix::net::UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    give(path, owner).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    UnixListener::from_std(listener).map_err(failed)
}

/// Gives a path to its owner without following a link.
fn give(path: &Path, owner: Owner) -> std::io::Result<()> {
    match owner {
        Owner::Own => Ok(()),
        Owner::Uid(uid) if uid == rustix::process::geteuid().as_raw() => Ok(()),
        Owner::Uid(uid) => chownat(
            CWD,
            path,
            Some(Uid::from_raw(uid)),
            Some(Gid::from_raw(uid)),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(Into::into),
    }
}

/// Removes what a dead process left behind.
fn clear(path: &Path) -> Result<(), BindError> {
    let failed = |why: std::io::Error| BindError::Failed {
        path: path.to_owned(),
        why,
    };
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !meta.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(failed)
        }
        // Also when its backlog is full or it is not for us: somebody is there.
        Ok(_) | Err(_) => Err(BindError::Alive(path.to_owned())),
    }
}
