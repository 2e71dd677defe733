//! A consistent copy of the database while the hive runs.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::fs::File;
use tokio::sync::Semaphore;
use tracing::info;

use crate::paths::Paths;
use crate::store::{Store, StoreError};

/// Makes copies, one at a time; cheap to clone.
#[derive(Clone, Debug)]
pub struct Backup {
    store: Store,
    folder: PathBuf,
    slot: Arc<Semaphore>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("hived is stopping")]
    Stopping,
    #[error("the copy cannot be read: {0}")]
    Read(#[source] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Begins the names of copies that are being handed out.
const PREFIX: &str = "handing-out-";

// === impl Backup ===

impl Backup {
    #[must_use]
    pub fn new(store: Store, paths: &Paths) -> Self {
        let folder = paths.backups();
        sweep(&folder);
        Self {
            store,
            folder,
            slot: Arc::new(Semaphore::new(1)),
        }
    }

    /// A copy as of now. Its file has no name any more: it goes when it is closed.
    ///
    /// # Errors
    /// When it cannot be written or read; the database is untouched.
    pub async fn make(&self) -> Result<File, BackupError> {
        let _slot = self
            .slot
            .acquire()
            .await
            .map_err(|_| BackupError::Stopping)?;
        let name = format!("{PREFIX}{}.db", uuid::Uuid::new_v4().simple());
        let path = self.folder.join(name);
        let written = self.store.backup(path.clone()).await;
        let opened = match written {
            Ok(()) => File::open(&path).await.map_err(BackupError::Read),
            Err(error) => Err(error.into()),
        };
        // Also what a full disk left half done; gone already is what is wanted.
        let _ = tokio::fs::remove_file(&path).await;
        if opened.is_ok() {
            info!("a backup was made");
        }
        opened
    }
}

/// Removes copies that a killed broker left behind.
fn sweep(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
