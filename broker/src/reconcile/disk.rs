//! The room that is left where the hive's data lie: too little is told before it is none.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hive_proto::ids::UnixMs;
use serde_json::{Value, json};

use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::model::concern::Concern;
use crate::model::disk::{self, Level, Thresholds};
use crate::model::event::Kind;
use crate::notify::Notify;
use crate::store::events::{self, About};
use crate::store::{Conn, Store, StoreError};

/// Asks for the free bytes of a directory's disk.
pub type Probe = fn(&std::path::Path) -> std::io::Result<u64>;

/// The reconciler.
#[derive(Debug)]
pub struct Disk {
    store: Store,
    clock: Clock,
    notify: Notify,
    path: PathBuf,
    thresholds: Thresholds,
    probe: Probe,
    room: DiskRoom,
    /// When nobody could be told in the ordinary way last, by the monotonic clock.
    cried: Mutex<Option<Duration>>,
}

/// What the last look saw; shared with `hive status`.
#[derive(Clone, Debug, Default)]
pub struct DiskRoom(Arc<Mutex<Option<Room>>>);

/// A level with its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub level: Level,
    pub since: UnixMs,
    pub free_bytes: u64,
}

const PERIOD: Duration = Duration::from_secs(30);
/// Between two cries.
const CRY_AGAIN: Duration = Duration::from_secs(60 * 60);

// === impl DiskRoom ===

impl DiskRoom {
    /// What was seen last; none before the first look.
    #[must_use]
    pub fn get(&self) -> Option<Room> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, room: Room) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
    }
}

// === impl Disk ===

impl Disk {
    #[must_use]
    pub fn new(
        store: Store,
        clock: Clock,
        notify: Notify,
        path: PathBuf,
        thresholds: Thresholds,
    ) -> Self {
        Self {
            store,
            clock,
            notify,
            path,
            thresholds,
            probe: free_bytes,
            room: DiskRoom::default(),
            cried: Mutex::default(),
        }
    }

    /// The same with another way to ask.
    #[must_use]
    pub fn asking(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    #[must_use]
    pub fn room(&self) -> DiskRoom {
        self.room.clone()
    }

    /// Writes the change down; where even that is impossible, tells it without.
    async fn note(&self, before: Level, room: Room) -> Result<(), StoreError> {
        let kind = match room.level {
            Level::Ok => Kind::DiskOk,
            Level::Low | Level::Full => Kind::DiskLow,
        };
        let data = json!({"level": room.level.word(), "was": before.word(),
            "free_bytes": room.free_bytes});
        let write =
            move |tx: &mut crate::store::Tx<'_>| events::append(tx, kind, About::default(), &data);
        let written = self.store.write(write).await;
        if matches!(written, Err(StoreError::Full)) && self.may_cry() {
            let text = "the hive's disk is full: nothing can be stored";
            self.notify.cry(Concern::Disk, text).await;
        }
        written
    }

    fn may_cry(&self) -> bool {
        let now = self.clock.monotonic();
        let mut cried = self.cried.lock().unwrap_or_else(PoisonError::into_inner);
        let may = cried.is_none_or(|last| now.saturating_sub(last) >= CRY_AGAIN);
        if may {
            *cried = Some(now);
        }
        may
    }
}

#[async_trait::async_trait]
impl Reconciler for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        let free_bytes = (self.probe)(&self.path)
            .map_err(|error| ReconcileError::Outside(format!("cannot ask the disk: {error}")))?;
        let noted = self.store.read(noted).await?;
        let (before, since) = noted.unwrap_or((Level::Ok, self.clock.now()));
        let level = disk::level(free_bytes, self.thresholds, before);
        let since = if level == before {
            since
        } else {
            self.clock.now()
        };
        let room = Room {
            level,
            since,
            free_bytes,
        };
        self.room.set(room);
        if level != before {
            self.note(before, room).await?;
        }
        let mib = usize::try_from(free_bytes / (1024 * 1024)).unwrap_or(usize::MAX);
        Ok(Report::default().count("MiB free", mib))
    }
}

/// The level that was written down last, and when.
fn noted(conn: &Conn) -> Result<Option<(Level, UnixMs)>, StoreError> {
    let row = events::newest_of(conn, &[Kind::DiskLow, Kind::DiskOk])?;
    Ok(row.and_then(|row| {
        let data: Value = serde_json::from_str(&row.data).ok()?;
        Some((Level::of(data["level"].as_str()?)?, row.at))
    }))
}

/// What a process without privileges may still use.
fn free_bytes(path: &std::path::Path) -> std::io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
