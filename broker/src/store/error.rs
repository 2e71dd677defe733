//! What can go wrong in the store, sorted by what the caller and the daemon must do about it.

use std::path::PathBuf;

/// A failed read or write.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A conditional update found the row in another state than the one it names.
    #[error("{what} is not {expected}")]
    Conflict {
        what: String,
        expected: &'static str,
    },
    #[error("{0} does not exist")]
    NotFound(String),
    #[error("the disk is full")]
    Full,
    /// The write may or may not be on disk: the daemon stops.
    #[error("the disk refused to store: {0}")]
    Fsync(String),
    #[error("{path} is damaged: {detail}", path = path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("the database has schema {found}, this hived knows {known}")]
    SchemaTooNew { found: u32, known: u32 },
    /// A row is in a state that its lifecycle does not know: a fault of hive.
    #[error("{0}")]
    Illegal(String),
    #[error("the store has stopped")]
    Stopped,
    #[error("{0}")]
    Sqlite(String),
}

// === impl StoreError ===

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        const FSYNC: [i32; 4] = [
            rusqlite::ffi::SQLITE_IOERR_FSYNC,
            rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC,
            rusqlite::ffi::SQLITE_IOERR_WRITE,
            rusqlite::ffi::SQLITE_IOERR_TRUNCATE,
        ];
        match &error {
            rusqlite::Error::SqliteFailure(code, _) if FSYNC.contains(&code.extended_code) => {
                Self::Fsync(error.to_string())
            }
            rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::DiskFull => {
                Self::Full
            }
            rusqlite::Error::SqliteFailure(code, _)
                if matches!(
                    code.code,
                    ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
                ) =>
            {
                Self::Corrupt {
                    path: PathBuf::from(super::open::FILE),
                    detail: error.to_string(),
                }
            }
            _ => Self::Sqlite(error.to_string()),
        }
    }
}
