//! Which conversation this agent is in, kept over restarts of everything.
//!
//! The id is hive's own choice and is stored before the program first hears of it. Whether the
//! program knows it is a question of its transcript: with one the conversation is resumed, without
//! one the id begins it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What is kept of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) id: Uuid,
    /// The program's running total at the last result, in US dollars: see `usage.rs`.
    #[serde(default)]
    pub(super) cost_total_usd: f64,
}

/// The file that holds it.
#[derive(Clone, Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
}

// === impl Session ===

impl Session {
    fn new() -> Self {
        Self {
            id: Uuid::new_v4(),
            cost_total_usd: 0.0,
        }
    }

    /// Whether the program has a transcript of it. The folder is named after the working
    /// directory in a way that is the program's own business, so all are looked at.
    pub(super) fn has_transcript(&self, config_dir: &Path) -> bool {
        let name = format!("{}.jsonl", self.id);
        let Ok(projects) = std::fs::read_dir(config_dir.join("projects")) else {
            return false;
        };
        projects
            .filter_map(Result::ok)
            .any(|project| project.path().join(&name).is_file())
    }
}

// === impl SessionFile ===

impl SessionFile {
    pub(super) fn in_dir(harness: &Path) -> Self {
        Self {
            path: harness.join("claude-session.json"),
        }
    }

    /// The stored conversation, or a new one, stored.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn load(&self) -> std::io::Result<Session> {
        match std::fs::read(&self.path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(session) => return Ok(session),
                Err(error) => {
                    tracing::warn!(%error, "the stored session is damaged: a new one begins");
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.begin()
    }

    /// A new conversation, stored.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn begin(&self) -> std::io::Result<Session> {
        let session = Session::new();
        self.save(&session)?;
        Ok(session)
    }

    /// Stores whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn save(&self, session: &Session) -> std::io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(session)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_survives_and_a_new_one_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = SessionFile::in_dir(dir.path());
        let mut first = file.load().unwrap();
        first.cost_total_usd = 0.5;
        file.save(&first).unwrap();
        assert_eq!(file.load().unwrap(), first);
        let second = file.begin().unwrap();
        assert_ne!(second.id, first.id);
        assert_eq!(file.load().unwrap(), second);
    }

    #[test]
    fn a_damaged_file_begins_a_new_session() {
        let dir = tempfile::tempdir().unwrap();
        let file = SessionFile::in_dir(dir.path());
        std::fs::write(dir.path().join("claude-session.json"), b"{\"id\":").unwrap();
        let session = file.load().unwrap();
        assert_eq!(file.load().unwrap(), session);
    }

    #[test]
    fn a_transcript_is_found_whatever_its_folder_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let session = Session::new();
        assert!(!session.has_transcript(dir.path()));
        let project = dir.path().join("projects/-some-where");
        std::fs::create_dir_all(&project).unwrap();
        assert!(!session.has_transcript(dir.path()));
        std::fs::write(project.join(format!("{}.jsonl", session.id)), b"").unwrap();
        assert!(session.has_transcript(dir.path()));
    }
}
