//! Starts `hived` in the background and waits until it serves.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hive_proto::v1::{HiveStatus, Reason};

use super::super::output::{self, Progress};
use super::super::{CliError, Ctx, escape, programs};
use super::{RuntimeArg, private_dir};

/// A migration of a large database after a copy of it takes its time.
const READY: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Lines of the log that are shown when it died.
const TAIL: usize = 15;
/// At most so much of the log is read for them.
const TAIL_BYTES: u64 = 64 * 1024;

/// Where a daemon that `hive up` started writes what it prints.
pub(super) fn log_path(home: &Path) -> PathBuf {
    home.join("logs").join("hived.out")
}

/// Starts it and returns its status once it answers.
pub(super) async fn start(ctx: &Ctx, runtime: RuntimeArg) -> Result<HiveStatus, CliError> {
    let Some(hived) = programs::hived() else {
        return Err(
            CliError::failed("hived is neither beside hive nor in the PATH")
                .with_hint("`make install` installs both"),
        );
    };
    let path = log_path(&ctx.home);
    let (log, begin) = open_log(&path)
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?;
    let child = spawn(ctx, &hived, runtime, log)
        .map_err(|error| CliError::failed(format!("cannot start {}: {error}", hived.display())))?;
    ready(ctx, child, &path, begin).await
}

/// The log, and where this run's part of it begins.
fn open_log(path: &Path) -> std::io::Result<(File, u64)> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    let log = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let begin = log.metadata()?.len();
    Ok((log, begin))
}

/// Through `hive detach`, which gives it a session of its own and keeps its process id.
fn spawn(ctx: &Ctx, hived: &Path, runtime: RuntimeArg, log: File) -> std::io::Result<Child> {
    let own = std::env::current_exe()?;
    Command::new(own)
        .arg("detach")
        .arg("--")
        .arg(hived)
        .arg("--home")
        .arg(std::path::absolute(&ctx.home)?)
        .arg("--run")
        .arg(std::path::absolute(&ctx.run)?)
        .arg("--runtime")
        .arg(runtime.word())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

async fn ready(
    ctx: &Ctx,
    mut child: Child,
    log: &Path,
    begin: u64,
) -> Result<HiveStatus, CliError> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    let calls = ctx.host_calls();
    loop {
        let ended = child.try_wait()?;
        match calls.status().await {
            Ok(status) => return Ok(status),
            Err(refusal) if refusal.reason == Reason::Unavailable => {}
            Err(refusal) => return Err(refusal.into()),
        }
        // Looked at before the call: another `hive up` may have won, and then its daemon answers.
        if let Some(ended) = ended {
            progress.clear();
            return Err(died(&ended.to_string(), log, begin));
        }
        if begun.elapsed() > READY {
            progress.clear();
            return Err(CliError::refused(
                Reason::Timeout,
                format!("hived does not answer after {} s", READY.as_secs()),
            )
            .with_hint(format!("it still runs; its log: {}", log.display())));
        }
        progress.set(&format!("starting hived, {} s", begun.elapsed().as_secs()));
        tokio::time::sleep(LOOK).await;
    }
}

fn died(how: &str, log: &Path, begin: u64) -> CliError {
    for line in tail(log, begin) {
        output::complain("hived", &escape::line(&line));
    }
    CliError::failed(format!("hived ended at its start ({how})"))
        .with_hint(format!("its log: {}", log.display()))
}

/// The last lines that were written since `begin`.
fn tail(log: &Path, begin: u64) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(begin.max(end.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let skipped = lines.len().saturating_sub(TAIL);
    lines[skipped..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn the_tail_is_of_this_run_and_short() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("x.log");
        let old = "an old run\n";
        let new: String = (0..40).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&log, format!("{old}{new}")).unwrap();
        let lines = tail(&log, old.len() as u64);
        assert_eq!(lines.len(), 15);
        assert_eq!(lines[14], "line 39");
        assert!(tail(&dir.path().join("none"), 0).is_empty());
    }
}
