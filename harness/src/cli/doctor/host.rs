//! The host: data directory, disk, socket directory, clock.

use std::path::Path;

use hive_proto::limits::SOCKET_PATH_BYTES;
use hive_proto::name::NAME_BYTES;

use super::super::when;
use super::{Check, Patient};

/// Below this a full disk is near.
const LOW: u64 = 1024 * 1024 * 1024;
/// Below this nothing works for long.
const TOO_LOW: u64 = 64 * 1024 * 1024;
/// 2026-01-01: this program did not exist before.
const BEFORE_HIVE_MS: i64 = 1_767_225_600_000;

pub(super) fn examine(patient: &Patient) -> Vec<Check> {
    let home = &patient.ctx.home;
    vec![
        writable(home),
        disk(home),
        run_length(&patient.ctx.run),
        clock(home, when::now_ms()),
    ]
}

fn writable(home: &Path) -> Check {
    let name = "data directory";
    let shown = home.display();
    if !home.exists() {
        return Check::warn(
            name,
            format!("{shown} does not exist yet"),
            "`hive up` makes it; HIVE_HOME names another one",
        );
    }
    match tempfile::Builder::new()
        .prefix(".hive-doctor-")
        .tempfile_in(home)
    {
        Ok(_) => Check::ok(name, format!("{shown} is writable")),
        Err(error) => Check::fail(
            name,
            format!("{shown} is not writable: {error}"),
            "run as the user that owns it, or name another one with HIVE_HOME",
        ),
    }
}

fn disk(home: &Path) -> Check {
    let name = "disk";
    // The nearest directory that exists lies on the same disk, or decides where a new one will be.
    let place = home.ancestors().find(|dir| dir.exists());
    let stat = place.map(rustix::fs::statvfs);
    let free = match stat {
        Some(Ok(stat)) => stat.f_bavail.saturating_mul(stat.f_frsize),
        Some(Err(error)) => {
            return Check::warn(
                name,
                format!("cannot ask for its room: {error}"),
                "look at the disk",
            );
        }
        None => return Check::warn(name, "no directory above it exists", "set HIVE_HOME"),
    };
    let text = format!("{} free", when::bytes(free));
    match free {
        0..TOO_LOW => Check::fail(name, text, "free some: without room no message is accepted"),
        TOO_LOW..LOW => Check::warn(name, text, "free some: without room no message is accepted"),
        LOW.. => Check::ok(name, text),
    }
}

/// The same sum as hived's.
fn run_length(run: &Path) -> Check {
    let name = "socket directory";
    let longest = run
        .join("agents")
        .join("a".repeat(NAME_BYTES))
        .join("gateway.sock");
    let bytes = longest.as_os_str().len();
    let shown = run.display();
    if bytes > SOCKET_PATH_BYTES {
        return Check::fail(
            name,
            format!(
                "{shown} is too deep: a socket's path would have {bytes} bytes, Linux allows {SOCKET_PATH_BYTES}"
            ),
            "name a shorter one with HIVE_RUN",
        );
    }
    Check::ok(
        name,
        format!("{shown} is short enough for every agent's name"),
    )
}

/// Due times and the order of events in the log rest on it.
fn clock(home: &Path, now_ms: i64) -> Check {
    let name = "clock";
    let text = when::utc(now_ms);
    if now_ms < BEFORE_HIVE_MS {
        return Check::fail(name, format!("it says {text}"), "set the clock (NTP)");
    }
    let written = std::fs::metadata(home.join("hive.db"))
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|time| jiff::Timestamp::try_from(time).ok());
    match written {
        Some(time) if time.as_millisecond() > now_ms + 60_000 => Check::warn(
            name,
            format!(
                "it says {text}, and the database was last written at {}",
                when::utc(time.as_millisecond())
            ),
            "the clock was set back; set it right (NTP)",
        ),
        _ => Check::ok(name, text),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::check::Verdict;
    use super::{clock, disk, run_length, writable};

    #[test]
    fn a_missing_home_is_no_failure_and_a_deep_run_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(writable(dir.path()).verdict, Verdict::Ok);
        assert_eq!(writable(&dir.path().join("none")).verdict, Verdict::Warn);
        assert_eq!(run_length(Path::new("/run/hive")).verdict, Verdict::Ok);
        let deep = format!("/tmp/{}", "d".repeat(60));
        assert_eq!(run_length(Path::new(&deep)).verdict, Verdict::Fail);
        assert!(disk(&dir.path().join("none/at/all")).text.contains("free"));
    }

    #[test]
    fn a_clock_of_another_age_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(clock(dir.path(), 0).verdict, Verdict::Fail);
        let now = super::when::now_ms();
        assert_eq!(clock(dir.path(), now).verdict, Verdict::Ok);
        std::fs::write(dir.path().join("hive.db"), "").unwrap();
        assert_eq!(clock(dir.path(), now - 3_600_000).verdict, Verdict::Warn);
    }
}
