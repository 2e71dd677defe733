//! A small pool of read-only connections.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::StoreError;
use super::open::open_reader;

/// More than the two cores of a small server: reads wait on the disk, too.
const READERS: usize = 4;

/// The pool; a permit stands for one idle connection.
#[derive(Debug)]
pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

/// A borrowed connection that finds its way back, also after a panic.
struct Borrowed<'a> {
    pool: &'a Readers,
    conn: Option<Connection>,
}

// === impl Readers ===

impl Readers {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let idle = (0..READERS)
            .map(|_| open_reader(path))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            idle: Mutex::new(idle),
            permits: Semaphore::new(READERS),
        })
    }

    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _permit = self
            .permits
            .acquire()
            .await
            .map_err(|_| StoreError::Stopped)?;
        let conn = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let borrowed = Borrowed { pool: self, conn };
        let Some(conn) = borrowed.conn.as_ref() else {
            return Err(StoreError::Stopped);
        };
        // Point reads on a local file take microseconds: cheaper here than a trip to another thread.
        tokio::task::block_in_place(|| work(conn))
    }
}

// === impl Borrowed ===

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.pool
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(conn);
        }
    }
}
