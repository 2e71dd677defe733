//! Logs: readable lines on stderr, JSON in `logs/hived.log`, rotated 20 MB × 5.
//!
//! A full log disk or a closed stderr loses lines and nothing else: the writers here swallow errors and
//! count them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use file_rotate::compression::Compression;
use file_rotate::suffix::AppendCount;
use file_rotate::{ContentLimit, FileRotate};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

const FILE_BYTES: usize = 20_000_000;
const FILES: usize = 5;

/// Lines that could not be written since the start.
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many log lines were lost since the start.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Installs both logs; `RUST_LOG` chooses what is kept (default `info`).
///
/// # Errors
/// When a subscriber is installed already.
pub fn init(dir: &Path) -> Result<(), TryInitError> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let file = FileRotate::new(
        dir.join("hived.log"),
        AppendCount::new(FILES - 1),
        ContentLimit::Bytes(FILE_BYTES),
        Compression::None,
        Some(private()),
    );
    let json = tracing_subscriber::fmt::layer()
        .json()
        .with_writer(Forgiving(Arc::new(Mutex::new(file))));
    let lines = tracing_subscriber::fmt::layer()
        .with_target(false)
        .with_ansi(false)
        .with_writer(Forgiving(Arc::new(Mutex::new(io::stderr()))));
    tracing_subscriber::registry()
        .with(filter)
        .with(json)
        .with(lines)
        .try_init()
}

/// Append, created for this user alone.
fn private() -> std::fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).create(true).append(true).mode(0o600);
    options
}

/// A writer whose errors are counted, not returned.
#[derive(Debug)]
struct Forgiving<W>(Arc<Mutex<W>>);

// === impl Forgiving ===

impl<W> Clone for Forgiving<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Write> Write for Forgiving<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.write_all(line).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // A failed flush loses a line that `write` has counted or will count.
        let _ = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush();
        Ok(())
    }
}

impl<'a, W: Write + 'a> MakeWriter<'a> for Forgiving<W> {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
