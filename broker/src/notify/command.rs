//! A notification as a program: no shell, a cleared environment, the document on stdin, and an end.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::notice::{Notice, plain};
use super::settings::Program;
use crate::runtime;

/// Passed on from hived's own environment: what a desktop needs to show something, no credential.
const INHERITED: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];
/// Names the notification in the environment of everything that the program starts.
const MARK: &str = "HIVE_NOTIFY_ID";
/// Bytes of its output that are looked at.
const OUTPUT: usize = 4096;
/// After the program's own end, for what it printed last.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Characters of it that are kept of a failure.
const COMPLAINT: usize = 300;

/// Why the program does not count as having told anybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("{program} cannot be run: {why}")]
    Run { program: String, why: String },
    #[error("{program} ended with {status}{output}")]
    Failed {
        program: String,
        status: String,
        output: String,
    },
    #[error("{program} had not ended after {} s and was killed", .limit.as_secs())]
    TooLong { program: String, limit: Duration },
}

/// Runs the program and waits for its end; then whatever it has left behind is ended too.
///
/// # Errors
/// When it cannot be run, takes too long, or ends with anything but 0.
pub(super) async fn run(
    program: &Program,
    limit: Duration,
    notice: &Notice,
    payload: &str,
) -> Result<(), CommandError> {
    let name = program.run.first().cloned().unwrap_or_default();
    // What a broker that was killed has left of the same notification must not run beside it.
    let id = &notice.data.id;
    end(std::slice::from_ref(id)).await;
    let mut child = command(program, notice).spawn().map_err(|error| {
        let program = name.clone();
        let why = error.to_string();
        CommandError::Run { program, why }
    })?;
    let leader = child.id().and_then(|pid| i32::try_from(pid).ok());
    let ended = tokio::time::timeout(limit, attend(&mut child, payload)).await;
    // One that has not ended still holds its number, which is its group's.
    let group = leader.filter(|_| ended.is_err());
    runtime::end_marked(MARK, std::slice::from_ref(id), group).await;
    match ended {
        Err(_) => Err(CommandError::TooLong {
            program: name,
            limit,
        }),
        Ok(Err(error)) => Err(CommandError::Run {
            program: name,
            why: error.to_string(),
        }),
        Ok(Ok((status, _))) if status.success() => Ok(()),
        Ok(Ok((status, output))) => Err(CommandError::Failed {
            program: name,
            status: status.to_string(),
            output: output_of(&output),
        }),
    }
}

fn output_of(output: &[u8]) -> String {
    match plain(&String::from_utf8_lossy(output), COMPLAINT) {
        empty if empty.is_empty() => empty,
        text => format!(": {text}"),
    }
}

fn command(program: &Program, notice: &Notice) -> Command {
    let data = &notice.data;
    let mut command = Command::new(program.run.first().map_or("", String::as_str));
    command
        .args(program.run.iter().skip(1).map(|arg| filled(arg, notice)))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let further = program.env.iter().map(String::as_str);
    for name in INHERITED.into_iter().chain(further) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env(MARK, &data.id)
        .env("HIVE_NOTIFY_KIND", &data.kind)
        .env("HIVE_NOTIFY_URGENCY", &data.urgency)
        .env("HIVE_NOTIFY_TITLE", &data.title)
        .env("HIVE_NOTIFY_TEXT", &data.text)
        .env("HIVE_NOTIFY_COUNT", data.count.to_string());
    command
}

/// An argument with its places filled in, each once: what an agent wrote is never looked at again.
fn filled(arg: &str, notice: &Notice) -> String {
    let places = [
        ("{title}", &notice.data.title),
        ("{text}", &notice.data.text),
        ("{kind}", &notice.data.kind),
        ("{urgency}", &notice.data.urgency),
    ];
    let mut filled = String::new();
    let mut rest = arg;
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        match places.iter().find(|(place, _)| rest.starts_with(place)) {
            Some((place, value)) => {
                filled.push_str(value);
                rest = &rest[place.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// Hands it the document and reads what it prints, until it ends.
async fn attend(child: &mut Child, payload: &str) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program need not read it.
            let _ = stdin.write_all(payload.as_bytes()).await;
        }
        // Dropped: the program sees the end.
    };
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    let status = {
        let talk = async {
            tokio::join!(
                feed,
                read_bounded(stdout, &mut printed),
                read_bounded(stderr, &mut complained)
            );
        };
        tokio::pin!(talk);
        let mut silent = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                () = &mut talk, if !silent => silent = true,
            }
        };
        if !silent {
            // What it started may hold its pipes open for longer than it lives itself.
            let _ = tokio::time::timeout(LAST_WORDS, &mut talk).await;
        }
        status
    };
    complained.append(&mut printed);
    Ok((status, complained))
}

/// Reads to the end and keeps the beginning: nobody is held up by a full pipe.
async fn read_bounded(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut chunk = [0_u8; 1024];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        let room = OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..read.min(room)]);
    }
}

/// Ends what these notifications' programs have started, when nobody waits for it any more.
pub(super) async fn end(ids: &[String]) {
    if !ids.is_empty() {
        runtime::end_marked(MARK, ids, None).await;
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::super::notice::Notice;
    use super::filled;

    #[test]
    fn places_are_filled_once_and_nothing_else_is() {
        let mut notice = Notice::test("msg_1", UnixMs(1));
        notice.data.text = "{title} $(reboot) {".to_owned();
        assert_eq!(filled("{title}", &notice), "hive: a test");
        assert_eq!(
            filled("<{text}|{kind}>", &notice),
            "<{title} $(reboot) {|test>"
        );
        assert_eq!(filled("{other} {{kind}", &notice), "{other} {test");
    }
}
