//! A harness's output in a file of bounded size, readable while it grows.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;
use tokio::sync::broadcast;

/// Longest line that is kept; the rest of it is dropped.
const LINE_BYTES: usize = 16 * 1024;
/// Lines that a slow follower may fall behind before it misses some.
const BEHIND: usize = 1024;

/// One agent's log: `harness.log`, and the older `harness.log.1` and so on.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    most_bytes: u64,
    files: u32,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Option<File>,
    bytes: u64,
    lines: broadcast::Sender<String>,
}

// === impl LogFile ===

impl LogFile {
    /// A log in `folder`; nothing is opened before the first line.
    pub(super) fn new(folder: &Path, most_bytes: i64, files: i64) -> Self {
        Self {
            path: folder.join("harness.log"),
            most_bytes: u64::try_from(most_bytes).unwrap_or_default().max(4096),
            files: u32::try_from(files).unwrap_or_default().clamp(1, 99),
            inner: Mutex::new(Inner {
                file: None,
                bytes: 0,
                lines: broadcast::Sender::new(BEHIND),
            }),
        }
    }

    /// Appends one line.
    ///
    /// # Errors
    /// When the file cannot be written; the line still reaches followers.
    pub(super) fn append(&self, line: &str) -> std::io::Result<()> {
        let mut end = line.len().min(LINE_BYTES);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let line = &line[..end];
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // No receiver: nobody follows.
        let _ = inner.lines.send(line.to_owned());
        if inner.bytes > self.most_bytes {
            inner.file = None;
            self.rotate();
        }
        let mut file = match inner.file.take() {
            Some(file) => file,
            None => {
                let file = open(&self.path)?;
                inner.bytes = file.metadata()?.len();
                file
            }
        };
        file.write_all(format!("{line}\n").as_bytes())?;
        inner.bytes += line.len() as u64 + 1;
        inner.file = Some(file);
        Ok(())
    }

    /// The newest `tail` lines, and those that come after them.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub(super) fn follow(
        &self,
        tail: u32,
    ) -> std::io::Result<(Vec<String>, broadcast::Receiver<String>)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = VecDeque::new();
        for path in [self.older(1), self.path.clone()] {
            read_tail(&path, tail as usize, &mut lines)?;
        }
        Ok((lines.into(), inner.lines.subscribe()))
    }

    fn older(&self, n: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{n}"));
        name.into()
    }

    /// A file that cannot be moved is written on, beyond its size: better than losing lines.
    fn rotate(&self) {
        for n in (1..self.files).rev() {
            let from = match n {
                1 => self.path.clone(),
                n => self.older(n - 1),
            };
            let _ = std::fs::rename(from, self.older(n));
        }
        if self.files == 1 {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The folder belongs to the agent: a link in the log's place is not followed.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(flags())
        .open(path)
}

fn read_tail(path: &Path, tail: usize, lines: &mut VecDeque<String>) -> std::io::Result<()> {
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(flags())
        .open(path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("the log is not a file"));
    }
    for line in BufReader::new(file).lines() {
        lines.push_back(line?);
        if lines.len() > tail {
            lines.pop_front();
        }
    }
    Ok(())
}

fn flags() -> i32 {
    // The bits fit: they are an int in open(2).
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::LogFile;

    #[test]
    fn a_follower_gets_the_tail_and_then_every_new_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = LogFile::new(dir.path(), 1 << 20, 3);
        for n in 0..5 {
            log.append(&format!("line {n}")).unwrap();
        }
        let (tail, mut after) = log.follow(2).unwrap();
        assert_eq!(tail, ["line 3", "line 4"]);
        log.append("line 5").unwrap();
        assert_eq!(after.try_recv().unwrap(), "line 5");
    }

    #[test]
    fn it_never_grows_beyond_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let log = LogFile::new(dir.path(), 4096, 3);
        for n in 0..2_000 {
            log.append(&format!("a line of some length, number {n}"))
                .unwrap();
        }
        let sizes: Vec<u64> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 3);
        assert!(sizes.iter().sum::<u64>() < 3 * 4096 + 300, "{sizes:?}");
        let (tail, _) = log.follow(1).unwrap();
        assert_eq!(tail, ["a line of some length, number 1999"]);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, dir.path().join("harness.log")).unwrap();
        let log = LogFile::new(dir.path(), 4096, 3);
        assert!(log.append("x").is_err());
        assert!(log.follow(5).is_err());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    }
}
