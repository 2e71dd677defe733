//! Removes what Claude Code leaves behind, whenever no process of it runs.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Transcripts and other leavings that are kept beside the running conversation's, newest first.
const KEPT: usize = 20;

/// Removes the directory for temporary files, and bounds the transcripts of earlier conversations
/// and the small files that grow with every start. `current` is never touched.
pub(super) fn prune(tmp: &Path, home: &Path, config_dir: &Path, current: &str) {
    clear(tmp);
    // Made again by the next start; it stays when something in it could not be removed.
    let _ = fs::remove_dir(tmp);
    for project in entries(&config_dir.join("projects")) {
        keep_newest(&project, current);
    }
    for growing in [
        "backups",
        "session-env",
        "shell-snapshots",
        "sessions",
        "file-history",
    ] {
        keep_newest(&config_dir.join(growing), current);
    }
    for cwd in entries(&home.join(".cache/claude-cli-nodejs")) {
        for logs in entries(&cwd) {
            keep_newest(&logs, current);
        }
    }
}

/// Best effort: what cannot be removed now is tried again the next time.
fn clear(dir: &Path) {
    for path in entries(dir) {
        remove(&path);
    }
}

fn keep_newest(dir: &Path, current: &str) {
    let mut found: Vec<(SystemTime, std::path::PathBuf)> = entries(dir)
        .into_iter()
        .filter(|path| {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            // Auto memory is off, but what somebody put there stays.
            name.is_some_and(|name| !name.starts_with(current) && name != "memory")
        })
        .filter_map(|path| {
            let modified = fs::symlink_metadata(&path).and_then(|meta| meta.modified());
            Some((modified.ok()?, path))
        })
        .collect();
    found.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));
    for (_, path) in found.into_iter().skip(KEPT) {
        remove(&path);
    }
}

fn remove(path: &Path) {
    let gone = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => return,
    };
    if let Err(error) = gone {
        tracing::debug!(%error, path = %path.display(), "cannot remove a leaving of claude's");
    }
}

fn entries(dir: &Path) -> Vec<std::path::PathBuf> {
    // A symbolic link could lead out of the agent's own directories.
    let real = fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
    let listed = real.then(|| fs::read_dir(dir).ok()).flatten();
    listed
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leavings_are_bounded_and_the_current_conversation_stays() {
        let home = tempfile::tempdir().unwrap();
        let tmp = tempfile::tempdir().unwrap();
        let config = home.path().join(".claude");
        let project = config.join("projects/-state");
        fs::create_dir_all(project.join("current")).unwrap();
        fs::create_dir_all(tmp.path().join("claude-0/x")).unwrap();
        fs::write(tmp.path().join("claude-0/x/out"), b"x").unwrap();
        fs::write(project.join("current.jsonl"), b"x").unwrap();
        let long_ago = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        let current = fs::File::options()
            .write(true)
            .open(project.join("current.jsonl"));
        current.unwrap().set_times(long_ago).unwrap();
        for number in 0..KEPT + 5 {
            fs::write(project.join(format!("old-{number}.jsonl")), b"x").unwrap();
        }
        prune(tmp.path(), home.path(), &config, "current");
        assert!(entries(tmp.path()).is_empty());
        assert!(project.join("current.jsonl").exists() && project.join("current").exists());
        assert_eq!(entries(&project).len(), KEPT + 2);
    }

    #[test]
    fn a_link_out_of_the_directory_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("precious"), b"x").unwrap();
        let tmp = home.path().join("tmp");
        std::os::unix::fs::symlink(outside.path(), &tmp).unwrap();
        prune(&tmp, home.path(), home.path(), "current");
        assert!(outside.path().join("precious").exists());
        fs::remove_file(&tmp).unwrap();
        fs::create_dir(&tmp).unwrap();
        std::os::unix::fs::symlink(outside.path(), tmp.join("link")).unwrap();
        prune(&tmp, home.path(), home.path(), "current");
        assert!(outside.path().join("precious").exists() && entries(&tmp).is_empty());
    }
}
