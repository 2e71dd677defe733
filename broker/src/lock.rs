//! One `hived` a data directory: an advisory lock that dies with its holder.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Held for the life of the process; the file holds the holder's pid.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another hived (pid {pid}) uses {dir}", dir = dir.display())]
    Taken { dir: PathBuf, pid: String },
    #[error("{path} cannot be locked: {source}", path = path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

// === impl Lock ===

impl Lock {
    /// Takes the lock at `path` without waiting.
    ///
    /// # Errors
    /// [`LockError::Taken`] while another process holds it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let io = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(io)?;
        if let Err(errno) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if errno != rustix::io::Errno::WOULDBLOCK {
                return Err(io(errno.into()));
            }
            let mut pid = String::new();
            let _ = file.take(20).read_to_string(&mut pid);
            let dir = path.parent().unwrap_or(path).to_owned();
            return Err(LockError::Taken {
                dir,
                pid: pid.trim().to_owned(),
            });
        }
        file.set_len(0).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}
