//! `hive restore`: puts a backup in the place of the database, while `hived` is down.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use hive_proto::v1::Reason;
use rustix::fs::{FlockOperation, flock};

use super::backup::SQLITE;
use super::{CliError, Ctx, output};

/// The database and what belongs to it, by the end of the name.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// Bytes of SQLite's file header, and where in it things stand (sqlite.org/fileformat).
const HEADER: usize = 100;
const PAGE_SIZE: usize = 16;
const PAGES: usize = 28;
const USER_VERSION: usize = 60;

/// Put a backup in the place of the database. hived must be down.
///
/// An existing database is replaced only with --force, and is kept under `backups/` in the data
/// directory. The agents' own files are not touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive restore hive-20260102T030405Z.db --force")]
pub struct Args {
    /// What `hive backup` wrote.
    file: PathBuf,
    /// Replace an existing database; it is kept.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, ctx: &Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    check_file(&args.file)?;
    make_private(&ctx.home)?;
    let _lock = lock(&ctx.home)?;
    let database = ctx.home.join("hive.db");
    if database.exists() && !args.force {
        return Err(CliError::refused(
            Reason::AlreadyExists,
            format!("{} exists", database.display()),
        )
        .with_hint("--force replaces it and keeps the old one under backups/"));
    }
    let new = copied(&args.file, &ctx.home)?;
    if database.exists() {
        let kept = keep(&ctx.home, &database)?;
        output::line(&format!("kept the old database as {}", kept.display()))?;
    }
    put(new, &database)?;
    output::line(&format!(
        "restored {}; `hive up` starts it",
        database.display()
    ))
}

/// What can be seen from outside: the magic, the length that the header tells, a schema of hive's.
/// hived looks at the rest when it starts.
fn check_file(file: &Path) -> Result<(), CliError> {
    let cannot = |error| CliError::failed(format!("cannot read {}: {error}", file.display()));
    let mut opened = File::open(file).map_err(cannot)?;
    let meta = opened.metadata().map_err(cannot)?;
    if !meta.is_file() {
        return Err(CliError::failed(format!("{} is no file", file.display())));
    }
    let mut head = [0; HEADER];
    match opened.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err(not_a_database(file));
        }
        Err(error) => return Err(cannot(error)),
    }
    if !head.starts_with(SQLITE) || be32(&head, USER_VERSION) == 0 {
        return Err(not_a_database(file));
    }
    let page = match be32(&head, PAGE_SIZE) >> 16 {
        1 => 65_536,
        size => size,
    };
    let told = u64::from(page) * u64::from(be32(&head, PAGES));
    if told != meta.len() {
        return Err(CliError::failed(format!(
            "{} is cut off or damaged: its header tells {told} bytes, it has {}",
            file.display(),
            meta.len()
        ))
        .with_hint("name another file that `hive backup` wrote"));
    }
    Ok(())
}

/// Four bytes of the header, big-endian; the offsets are inside of it.
fn be32(head: &[u8; HEADER], at: usize) -> u32 {
    let bytes = head[at..at + 4].iter();
    bytes.fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn not_a_database(file: &Path) -> CliError {
    CliError::failed(format!("{} is not a hive database", file.display()))
        .with_hint("name a file that `hive backup` wrote")
}

fn make_private(dir: &Path) -> Result<(), CliError> {
    super::up::private_dir(dir)
        .map_err(|error| CliError::failed(format!("cannot make {}: {error}", dir.display())))
}

/// The lock that a running `hived` holds; held until the end, so that none starts meanwhile.
fn lock(home: &Path) -> Result<File, CliError> {
    let path = home.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| CliError::failed(format!("cannot open {}: {error}", path.display())))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(CliError::refused(
            Reason::WrongState,
            "hived runs on this data directory",
        )
        .with_hint("stop it with `hive down` first")),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

/// A complete copy beside the database, on disk.
fn copied(file: &Path, home: &Path) -> Result<tempfile::NamedTempFile, CliError> {
    let cannot = |error: std::io::Error| {
        CliError::failed(format!("cannot copy {}: {error}", file.display()))
    };
    let mut part = tempfile::Builder::new()
        .prefix(".hive-restore-")
        .permissions(std::fs::Permissions::from_mode(0o600))
        .tempfile_in(home)
        .map_err(cannot)?;
    let mut from = File::open(file).map_err(cannot)?;
    std::io::copy(&mut from, part.as_file_mut()).map_err(cannot)?;
    part.as_file().sync_all().map_err(cannot)?;
    Ok(part)
}

/// Links the old database and its log under another name. Hard links, so that nothing is copied and
/// at no moment either name misses.
fn keep(home: &Path, database: &Path) -> Result<PathBuf, CliError> {
    let backups = home.join("backups");
    make_private(&backups)?;
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%.3fZ");
    let kept = backups.join(format!("before-restore-{now}.db"));
    for part in PARTS {
        let (old, new) = (with_end(database, part), with_end(&kept, part));
        match std::fs::hard_link(&old, &new) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let why = format!("cannot keep {}: {error}", old.display());
                return Err(CliError::failed(why));
            }
        }
    }
    sync_dir(&backups)?;
    Ok(kept)
}

/// The old log goes before the new database comes: a log beside a database that it does not belong
/// to would spoil it.
fn put(new: tempfile::NamedTempFile, database: &Path) -> Result<(), CliError> {
    let cannot = |error: std::io::Error| {
        CliError::failed(format!("cannot replace {}: {error}", database.display()))
    };
    for part in &PARTS[1..] {
        match std::fs::remove_file(with_end(database, part)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    new.persist(database).map_err(|error| cannot(error.error))?;
    sync_dir(database.parent().unwrap_or(Path::new(".")))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn sync_dir(dir: &Path) -> Result<(), CliError> {
    Ok(File::open(dir)?.sync_all()?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use rustix::fs::{FlockOperation, flock};

    use super::super::Ctx;
    use super::{Args, SQLITE, run};

    struct Place {
        dir: tempfile::TempDir,
        ctx: Ctx,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        let ctx = Ctx::find(|name| match name {
            "HIVE_HOME" => Some(path.join("home").display().to_string()),
            "HIVE_RUN" => Some(path.join("run").display().to_string()),
            _ => None,
        });
        Place { dir, ctx }
    }

    /// One page that ends with `mark`.
    fn database(path: &Path, mark: &str) -> PathBuf {
        let mut bytes = SQLITE.to_vec();
        bytes.resize(512 - mark.len(), 0);
        bytes[16..18].copy_from_slice(&512_u16.to_be_bytes());
        bytes[31] = 1;
        bytes[63] = 1;
        bytes.extend(mark.as_bytes());
        fs::write(path, bytes).unwrap();
        path.to_owned()
    }

    #[test]
    fn a_cut_off_copy_and_another_programs_database_are_refused() {
        let place = place();
        let file = database(&place.dir.path().join("a.db"), "first");
        let whole = fs::read(&file).unwrap();
        let mut foreign = whole.clone();
        foreign[63] = 0;
        for bytes in [&whole[..511], &foreign, b""] {
            fs::write(&file, bytes).unwrap();
            let args = Args {
                file: file.clone(),
                force: true,
            };
            assert_eq!(run(&args, &place.ctx).unwrap_err().code(), 1);
            assert!(!place.ctx.home.join("hive.db").exists());
        }
    }

    #[test]
    fn an_empty_place_is_filled_and_an_existing_database_is_kept() {
        let place = place();
        let home = place.ctx.home.clone();
        let file = database(&place.dir.path().join("a.db"), "first");
        let args = |force| Args {
            file: file.clone(),
            force,
        };
        run(&args(false), &place.ctx).unwrap();
        assert!(fs::read(home.join("hive.db")).unwrap().ends_with(b"first"));

        fs::write(home.join("hive.db-wal"), "log of the first").unwrap();
        database(&file, "second");
        let refused = run(&args(false), &place.ctx).unwrap_err();
        assert_eq!(refused.code(), 4);
        assert!(fs::read(home.join("hive.db")).unwrap().ends_with(b"first"));

        run(&args(true), &place.ctx).unwrap();
        assert!(fs::read(home.join("hive.db")).unwrap().ends_with(b"second"));
        assert!(!home.join("hive.db-wal").exists());
        let mut kept: Vec<_> = fs::read_dir(home.join("backups"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        kept.sort();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(fs::read(&kept[0]).unwrap().ends_with(b"first"));
        assert_eq!(fs::read(&kept[1]).unwrap(), b"log of the first");
    }

    #[test]
    fn a_running_daemon_and_a_strange_file_are_refused() {
        let place = place();
        let home = place.ctx.home.clone();
        let strange = place.dir.path().join("x");
        fs::write(&strange, "no database").unwrap();
        let refused = run(
            &Args {
                file: strange,
                force: true,
            },
            &place.ctx,
        );
        assert_eq!(refused.unwrap_err().code(), 1);

        fs::create_dir_all(&home).unwrap();
        let held = fs::File::create(home.join("lock")).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let file = database(&place.dir.path().join("a.db"), "first");
        let refused = run(&Args { file, force: true }, &place.ctx).unwrap_err();
        assert_eq!(refused.code(), 4);
        assert!(!home.join("hive.db").exists());
    }
}
