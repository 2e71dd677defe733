//! `hive backup`: a consistent copy of the database while the hive runs.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{CliError, Ctx, output, when};
use crate::broker::CommandCalls;

/// How every SQLite database begins.
pub(super) const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Write one consistent copy of the database while the hive runs; prints the file's name.
///
/// It holds agents, messages, turns and events, not the agents' own files. The file appears under
/// its name only once it is complete, readable by you alone. An existing file is not written over.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive backup -o /srv/backups/hive-monday.db")]
pub struct Args {
    /// Where to; `hive-<time>.db` in this directory when left out.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    let file = args.output.unwrap_or_else(default_name);
    if file.exists() {
        return Err(
            CliError::failed(format!("{} exists already", file.display()))
                .with_hint("name another file with -o"),
        );
    }
    let size = write(&ctx.calls(), &file).await?;
    output::line(&format!("{} ({})", file.display(), when::bytes(size)))
}

fn default_name() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("hive-{now}.db"))
}

async fn write(calls: &CommandCalls, file: &Path) -> Result<u64, CliError> {
    let mut chunks = calls.backup().await?;
    let dir = match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let cannot = |error: std::io::Error| {
        CliError::failed(format!("cannot write {}: {error}", file.display()))
    };
    // Removed again when anything below fails.
    let mut part = tempfile::Builder::new()
        .prefix(".hive-backup-")
        .permissions(std::fs::Permissions::from_mode(0o600))
        .tempfile_in(dir)
        .map_err(cannot)?;
    let mut size = 0;
    let mut head = Vec::new();
    while let Some(chunk) = chunks.next().await? {
        if head.len() < SQLITE.len() {
            head.extend(chunk.data.iter().take(SQLITE.len()));
        }
        size += chunk.data.len() as u64;
        part.write_all(&chunk.data).map_err(cannot)?;
    }
    if !head.starts_with(SQLITE) {
        return Err(CliError::failed("what hived sent is not a database"));
    }
    part.as_file().sync_all().map_err(cannot)?;
    part.persist_noclobber(file)
        .map_err(|error| cannot(error.error))?;
    // The name is on disk too before success is told.
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(cannot)?;
    Ok(size)
}
