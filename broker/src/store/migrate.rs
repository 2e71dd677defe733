//! Numbered, append-only migrations by `user_version`, each in one exclusive transaction.

use std::path::{Path, PathBuf};

use hive_proto::ids::UnixMs;
use rusqlite::{Connection, TransactionBehavior};
use tracing::info;

use super::error::StoreError;

/// Never reordered, never edited once released: a change is a new file at the end.
const MIGRATIONS: [&str; 7] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_purges.sql"),
    include_str!("migrations/0003_approvals_schedules.sql"),
    include_str!("migrations/0004_restart_asked.sql"),
    include_str!("migrations/0005_questions.sql"),
    include_str!("migrations/0006_rights.sql"),
    include_str!("migrations/0007_outbox.sql"),
];

/// The first bytes of every SQLite file (sqlite.org/fileformat.html).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Schema that this build writes.
pub(super) fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Refuses a file that is not a database before SQLite gets to replace it by an empty one.
pub(super) fn refuse_damaged(path: &Path) -> Result<(), StoreError> {
    use std::io::Read;
    let corrupt = |detail: &str| StoreError::Corrupt {
        path: path.into(),
        detail: detail.into(),
    };
    let wal = path.with_extension("db-wal");
    let mut head = [0_u8; 16];
    match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if wal.metadata().is_ok_and(|meta| meta.len() > 0) {
                return Err(corrupt("is missing although its write-ahead log is there"));
            }
            return Ok(());
        }
        Err(error) => return Err(corrupt(&error.to_string())),
        // Closed before SQLite opens it: closing a descriptor later would drop its locks.
        Ok(mut file) => {
            if file.read_exact(&mut head).is_err() {
                let empty = file.metadata().is_ok_and(|meta| meta.len() == 0);
                let fresh = empty && !wal.metadata().is_ok_and(|meta| meta.len() > 0);
                return if fresh {
                    Ok(())
                } else {
                    Err(corrupt("is cut off"))
                };
            }
        }
    }
    if head != MAGIC {
        return Err(corrupt("is not a database"));
    }
    refuse_foreign_log(path, &wal)
}

/// Refuses a write-ahead log that SQLite would pass over in silence, together with all that was only
/// in there. Zeros are what a power cut may leave of one that nothing had been synced into.
fn refuse_foreign_log(path: &Path, wal: &Path) -> Result<(), StoreError> {
    use std::io::Read;
    /// First bytes of a write-ahead log, without the bit for its checksums' byte order.
    const LOG_MAGIC: u32 = 0x377f_0682;
    let mut head = [0_u8; 4];
    let read = std::fs::File::open(wal).and_then(|mut file| file.read_exact(&mut head));
    let magic = u32::from_be_bytes(head);
    if read.is_err() || magic == 0 || magic & !1 == LOG_MAGIC {
        return Ok(());
    }
    Err(StoreError::Corrupt {
        path: path.into(),
        detail: "has a write-ahead log that is none".into(),
    })
}

/// Brings the schema up to date, after a backup when there is something to lose.
pub(super) fn run(
    conn: &mut Connection,
    path: &Path,
    backups: &Path,
    now: UnixMs,
) -> Result<(), StoreError> {
    let found: u32 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| damaged(path, &error))?;
    if found > known() {
        return Err(StoreError::SchemaTooNew {
            found,
            known: known(),
        });
    }
    check(conn, path)?;
    if found == known() {
        return Ok(());
    }
    if found > 0 {
        let target = backups.join(format!("before-schema-{}-{}.db", known(), now.0));
        vacuum_into(conn, &target)?;
        info!(backup = %target.display(), from = found, to = known(), "migrating the database");
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    for sql in &MIGRATIONS[found as usize..] {
        tx.execute_batch(sql)?;
    }
    tx.pragma_update(None, "user_version", known())?;
    tx.commit()?;
    // From here on a lost log is a database that lacks its newest rows, never an empty one.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// A database as the hived of an earlier schema left it.
#[cfg(test)]
pub(super) fn run_up_to(conn: &mut Connection, version: u32) -> Result<(), StoreError> {
    for sql in &MIGRATIONS[..version as usize] {
        conn.execute_batch(sql)?;
    }
    conn.pragma_update(None, "user_version", version)?;
    Ok(())
}

/// Writes a consistent copy; the target is created private to this user.
pub(super) fn vacuum_into(conn: &Connection, target: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    let text = target.to_str().ok_or_else(|| {
        StoreError::Sqlite(format!(
            "{} is not a UTF-8 path",
            PathBuf::from(target).display()
        ))
    })?;
    conn.execute("VACUUM INTO ?1", [text])?;
    std::fs::set_permissions(target, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| StoreError::Sqlite(error.to_string()))
}

fn check(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let verdict: String = conn
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| damaged(path, &error))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt {
        path: path.into(),
        detail: verdict,
    })
}

pub(super) fn damaged(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Corrupt {
        path: path.into(),
        detail: error.to_string(),
    }
}
