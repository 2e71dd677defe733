//! A command line of a script, run as an engine's Bash tool would: in the agent's state directory,
//! ended with everything it started when the turn ends.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use crate::proc::Children;

/// Most of the output that a script gets to see.
const OUTPUT_BYTES: u64 = 64 * 1024;

/// The output of a command that went well; otherwise how it ended, and its output.
pub(super) async fn run(
    children: &Children,
    line: &str,
    state: &Path,
    home: &Path,
) -> Result<String, String> {
    // The line comes from a script, and whatever was filled in is quoted.
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(line)
        .current_dir(state)
        .env("HOME", home)
        .env("PATH", path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut group = children
        .spawn_group(&mut command)
        .map_err(|error| format!("not started: {error}"))?;
    let (out, err) = (group.child().stdout.take(), group.child().stderr.take());
    // Waiting for the end of the pipes would wait for what the command left in the background.
    let mut out_text = Vec::new();
    let mut err_text = Vec::new();
    let reading = async { tokio::join!(read(out, &mut out_text), read(err, &mut err_text)) };
    let status = {
        let mut reading = std::pin::pin!(reading);
        tokio::select! {
            status = group.child().wait() => {
                // What was written before the exit is in the pipes already.
                _ = tokio::time::timeout(std::time::Duration::from_millis(100), reading).await;
                status
            }
            _ = &mut reading => group.child().wait().await,
        }
    };
    let status = status.map_err(|error| format!("not waited for: {error}"))?;
    out_text.append(&mut err_text);
    let text = String::from_utf8_lossy(&out_text).trim_end().to_owned();
    if status.success() {
        Ok(text)
    } else {
        Err(format!("{status}\n{text}"))
    }
}

/// The search path, with the directory of this program at its end: a container has `hive` on it
/// anyway, a plain process may not.
fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::current_exe();
    if let Some(dir) = own.as_deref().ok().and_then(Path::parent) {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(dir);
    }
    path
}

/// Reads all of a pipe and keeps its beginning.
async fn read(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    // A broken pipe is the end of the output.
    _ = (&mut pipe).take(OUTPUT_BYTES).read_to_end(into).await;
    _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run;
    use crate::proc::Children;

    #[tokio::test]
    async fn output_and_failures_are_results() {
        let dir = tempfile::tempdir().unwrap();
        let children = Children::default();
        let run = |line| run(&children, line, dir.path(), Path::new("/nowhere"));
        assert_eq!(run("echo a; echo b >&2").await, Ok("a\nb".to_owned()));
        assert_eq!(run("pwd").await.map(|at| at.len() > 1), Ok(true));
        assert_eq!(run("echo $HOME").await, Ok("/nowhere".to_owned()));
        let failed = run("echo no; exit 3").await.unwrap_err();
        assert!(failed.contains('3') && failed.ends_with("\nno"), "{failed}");
    }

    #[tokio::test]
    async fn what_runs_in_the_background_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        assert_eq!(
            run(
                &Children::default(),
                "sleep 30 & echo done",
                dir.path(),
                dir.path()
            )
            .await,
            Ok("done".to_owned())
        );
        assert!(begun.elapsed().as_secs() < 20);
    }
}
