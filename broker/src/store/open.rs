//! Opening the database, and the handle that everyone else holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hive_proto::ids::EventSeq;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{mpsc, oneshot, watch};

use super::error::StoreError;
use super::migrate;
use super::readers::Readers;
use super::room::Room;
use super::standing::{Order, Parked, Standing, Turnout};
use super::tx::Tx;
use super::writer::{Job, Keep, Writer, guarded};
use crate::clock::Clock;
use crate::model::retry::Retry;
use crate::shutdown::Tasks;
use crate::wakers::Wakers;

/// Oldest SQLite that is free of the WAL-reset corruption (sqlite.org/wal.html#walresetbug).
pub const MIN_SQLITE: i32 = 3_051_003;

/// The database's name in the data directory.
pub(super) const FILE: &str = "hive.db";

/// Handle on the store; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    jobs: mpsc::UnboundedSender<Box<dyn Job>>,
    readers: Arc<Readers>,
    wakers: Arc<Wakers>,
    health: watch::Receiver<String>,
    path: PathBuf,
}

/// What people may want to know of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFacts {
    pub schema: u32,
    /// On disk, the write-ahead log included.
    pub bytes: u64,
    pub sqlite_version: String,
    pub last_seq: EventSeq,
}

/// A write closure with its caller.
struct Write<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

// === impl Store ===

impl Store {
    /// Opens or creates `home/hive.db`, migrates it and starts the writer thread.
    ///
    /// # Errors
    /// A damaged file, a schema newer than this build, a directory that cannot be written: the
    /// database is left untouched in each case.
    pub fn open(home: &Path, clock: Clock, tasks: Tasks) -> Result<Self, StoreError> {
        Self::open_by(Retry::default(), home, clock, tasks)
    }

    /// The same, with messages tried again by this rule.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_by(
        retry: Retry,
        home: &Path,
        clock: Clock,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let path = home.join(FILE);
        migrate::refuse_damaged(&path)?;
        let mut conn = Connection::open(&path)?;
        prepare(&conn, &path)?;
        migrate::run(&mut conn, &path, &home.join("backups"), clock.now())?;
        let readers = Arc::new(Readers::open(&path)?);
        let wakers = Arc::new(Wakers::default());
        let (jobs, receiver) = mpsc::unbounded_channel();
        let (health_sender, health) = watch::channel(String::new());
        let writer = Writer {
            conn,
            jobs: receiver,
            clock,
            retry,
            wakers: wakers.clone(),
            tasks,
            health: health_sender,
            parked: Parked::default(),
            room: Room::default(),
        };
        std::thread::Builder::new()
            .name("hive-writer".into())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::Sqlite(format!("no writer thread: {error}")))?;
        Ok(Self {
            jobs,
            readers,
            wakers,
            health,
            path,
        })
    }

    /// Runs `work` in the next group and returns once that group is on disk.
    ///
    /// # Errors
    /// The closure's own error (its savepoint is rolled back, the group goes on), or the commit's.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Write {
            work: Some(work),
            result: None,
            reply,
        });
        self.jobs.send(job).map_err(|_| StoreError::Stopped)?;
        answer.await.map_err(|_| StoreError::Stopped)?
    }

    /// Like [`Store::write`], for work that may have to wait: when it says so it stays with the writer, and
    /// runs again in the transaction that wakes the recipient it waits for.
    ///
    /// # Errors
    /// When the writer has ended.
    pub fn stand<T, F>(&self, work: F) -> Result<Standing<T>, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<Turnout<T>, StoreError> + Send + 'static,
    {
        let (order, standing) = Order::new(work);
        self.jobs
            .send(Box::new(order))
            .map_err(|_| StoreError::Stopped)?;
        Ok(standing)
    }

    /// Runs `work` on a read-only connection, off the runtime's threads.
    ///
    /// # Errors
    /// The closure's own error.
    pub async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.readers.read(work).await
    }

    #[must_use]
    pub fn wakers(&self) -> &Arc<Wakers> {
        &self.wakers
    }

    /// Last failure of a commit; empty when the last one worked.
    #[must_use]
    pub fn health(&self) -> String {
        self.health.borrow().clone()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `hive status` shows of the database.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn facts(&self) -> Result<StoreFacts, StoreError> {
        let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        let bytes = size(&self.path) + size(&self.path.with_extension("db-wal"));
        let last_seq = self.read(super::events::last_seq).await?;
        Ok(StoreFacts {
            schema: migrate::known(),
            bytes,
            sqlite_version: rusqlite::version().to_owned(),
            last_seq,
        })
    }

    /// Moves what the write-ahead log holds into the database itself: the last act of an orderly end.
    ///
    /// # Errors
    /// When it cannot be moved; nothing is lost, the next start finds it in the log.
    pub fn settle_log(&self) -> Result<(), StoreError> {
        let conn = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.busy_timeout(std::time::Duration::from_secs(2))?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Writes a consistent copy to `target`, which must not exist.
    ///
    /// # Errors
    /// When the copy cannot be written; nothing of the live database is touched.
    pub async fn backup(&self, target: PathBuf) -> Result<(), StoreError> {
        self.read(move |conn| migrate::vacuum_into(conn, &target))
            .await
    }
}

// === impl Write ===

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Keep {
        let Some(work) = self.work.take() else {
            return Keep::RollBack;
        };
        let result = guarded(|| work(tx));
        let keep = if result.is_ok() {
            Keep::Release
        } else {
            Keep::RollBack
        };
        self.result = Some(result);
        keep
    }

    fn fault(&self) -> Option<StoreError> {
        self.result
            .as_ref()
            .and_then(|result| result.as_ref().err())
            .cloned()
    }

    fn settle(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(fault), _) => Err(fault),
            (Ok(()), None) => Err(StoreError::Stopped),
        };
        // The caller may have gone away; its write stands all the same.
        let _ = self.reply.send(result);
    }
}

/// Sets and then asserts what the promises rest on.
pub(super) fn prepare(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    // The first look into the file: what is wrong with it is said with its name.
    conn.pragma_update(None, "journal_mode", "wal")
        .map_err(|error| migrate::damaged(path, &error))?;
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "foreign_keys", "on")?;
    conn.set_prepared_statement_cache_capacity(128);
    let corrupt = |detail: String| StoreError::Corrupt {
        path: path.to_owned(),
        detail,
    };
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let sync: i64 = conn.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let keys: i64 = conn.pragma_query_value(None, "foreign_keys", |row| row.get(0))?;
    if mode != "wal" || sync < 2 || keys != 1 {
        return Err(corrupt(format!(
            "cannot be opened durably (journal_mode {mode}, synchronous {sync}, foreign_keys {keys})"
        )));
    }
    if rusqlite::version_number() < MIN_SQLITE {
        return Err(corrupt(format!(
            "needs SQLite 3.51.3, this is {}",
            rusqlite::version()
        )));
    }
    Ok(())
}

/// Opens a connection that cannot write.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(conn)
}
