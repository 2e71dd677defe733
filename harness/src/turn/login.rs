//! The end of a `needs_login` park: a credential changed in the directory that holds the login.
//!
//! Only files that are named like one count: an engine that is kept goes on writing its transcript and
//! its own state into the same directory, and that is no login.
//!
//! A login counts only when it is newer than the park: the same stale credentials must not be tried
//! over and over. Both axes are needed, since `modified()` fails on some file systems.

use std::path::Path;
use std::time::SystemTime;

/// Deep enough for a vendor's login, shallow enough for a directory full of transcripts.
const DEPTH: u32 = 2;
/// Entries looked at, so that a huge directory costs a bounded time.
const ENTRIES: u32 = 2_000;

/// Parts of the names of files that hold a login, e.g. `.credentials.json`, `auth.json`.
const LOGINS: [&str; 4] = ["credential", "auth", "token", "login"];

/// Newest modification and number of the login files below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirSnapshot {
    newest: Option<SystemTime>,
    files: u32,
}

// === impl DirSnapshot ===

impl DirSnapshot {
    /// What is there now; a directory that cannot be read has nothing in it.
    #[must_use]
    pub fn take(dir: &Path) -> Self {
        let (mut snapshot, mut left) = (Self::default(), ENTRIES);
        snapshot.add(dir, DEPTH, &mut left);
        snapshot
    }

    /// Whether something was written or the number of files changed since `earlier`.
    #[must_use]
    pub fn differs(&self, earlier: &Self) -> bool {
        self.newest > earlier.newest || self.files != earlier.files
    }

    fn add(&mut self, dir: &Path, depth: u32, left: &mut u32) {
        let Ok(entries) = std::fs::read_dir(dir) else {
            return;
        };
        for entry in entries.flatten() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            // `DirEntry::metadata` does not follow links.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                if depth > 0 {
                    self.add(&entry.path(), depth - 1, left);
                }
                continue;
            }
            if !is_login(&entry.file_name().to_string_lossy()) {
                continue;
            }
            self.files += 1;
            self.newest = self.newest.max(metadata.modified().ok());
        }
    }
}

fn is_login(name: &str) -> bool {
    let name = name.to_lowercase();
    LOGINS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::DirSnapshot;

    #[test]
    fn a_newer_file_or_another_count_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("credentials");
        std::fs::write(&file, "x").unwrap();
        let before = DirSnapshot::take(dir.path());
        assert!(!DirSnapshot::take(dir.path()).differs(&before));

        let later = SystemTime::now() + Duration::from_secs(5);
        std::fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert!(DirSnapshot::take(dir.path()).differs(&before));

        let touched = DirSnapshot::take(dir.path());
        std::fs::create_dir(dir.path().join("projects")).unwrap();
        std::fs::write(dir.path().join("projects/transcript.jsonl"), "x").unwrap();
        std::fs::write(dir.path().join(".claude.json"), "x").unwrap();
        assert!(
            !DirSnapshot::take(dir.path()).differs(&touched),
            "an engine's own writing is no login"
        );
        std::fs::remove_file(&file).unwrap();
        assert!(DirSnapshot::take(dir.path()).differs(&touched));
        assert!(!DirSnapshot::take(&file).differs(&DirSnapshot::default()));
    }
}
