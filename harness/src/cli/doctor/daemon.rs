//! The daemon: found, running, of this version, with a database that answers and private sockets.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use hive_proto::VERSION;
use hive_proto::v1::HiveStatus;

use super::super::{programs, when};
use super::{Check, Patient};

pub(super) async fn examine(patient: &Patient) -> Vec<Check> {
    let mut checks = vec![program(), running(patient)];
    if let Ok(status) = &patient.status {
        let others = if patient.config.lists_operators() {
            Others::Operators
        } else {
            Others::Nobody
        };
        checks.extend([store(status), sockets(&patient.ctx.run, others)]);
        checks.extend(agents(patient).await);
    }
    checks
}

fn program() -> Check {
    match programs::hived() {
        Some(path) => Check::ok("hived program", path.display().to_string()),
        None => Check::warn(
            "hived program",
            "it is neither beside hive nor in the PATH",
            "`make install` installs both",
        ),
    }
}

fn running(patient: &Patient) -> Check {
    let name = "hived";
    match &patient.status {
        Ok(status) if status.version == VERSION => {
            let up = std::time::Duration::from_secs(status.uptime_secs);
            Check::ok(
                name,
                format!("version {VERSION} runs, for {}", when::span(up)),
            )
        }
        Ok(status) => Check::warn(
            name,
            format!(
                "version {} runs, and this hive is version {VERSION}",
                status.version
            ),
            "install both of one version, then `hive down` and `hive up`",
        ),
        Err(refusal) => Check::fail(
            name,
            refusal.message.clone(),
            match refusal.hint.as_str() {
                "" => "`hive up` starts it",
                hint => hint,
            },
        ),
    }
}

fn store(status: &HiveStatus) -> Check {
    let name = "database";
    let store = status.store.clone().unwrap_or_default();
    match store.error.as_str() {
        "" => Check::ok(
            name,
            format!(
                "{}, schema {}, SQLite {}",
                when::bytes(store.bytes),
                store.schema,
                store.sqlite_version
            ),
        ),
        error => Check::fail(
            name,
            format!("writes fail: {error}"),
            "look at the disk; hived goes on by itself when there is room",
        ),
    }
}

/// Who else may reach the operator's socket. hived asks the kernel who it is in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Nobody,
    /// hive.toml lists further operators: they pass through the directory and open the socket.
    Operators,
}

fn sockets(run: &Path, others: Others) -> Check {
    let name = "sockets";
    let remedy = "stop hived, remove the directory, start it again";
    let operator = run.join("operator.sock");
    let (dir_mask, socket_mask) = match others {
        Others::Nobody => (0o007, 0o007),
        Others::Operators => (0o006, 0o001),
    };
    for (path, mask) in [(run, dir_mask), (operator.as_path(), socket_mask)] {
        let mode = match std::fs::symlink_metadata(path) {
            Ok(meta) => meta.permissions().mode() & 0o777,
            Err(error) => {
                return Check::fail(name, format!("{}: {error}", path.display()), remedy);
            }
        };
        if mode & mask != 0 {
            return Check::fail(
                name,
                format!("{} is open to everybody (mode {mode:o})", path.display()),
                remedy,
            );
        }
    }
    let is_socket =
        std::fs::symlink_metadata(&operator).is_ok_and(|meta| meta.file_type().is_socket());
    if !is_socket {
        return Check::fail(name, format!("{} is no socket", operator.display()), remedy);
    }
    Check::ok(name, format!("{} has its modes", operator.display()))
}

/// Agents that do not work by themselves any more.
async fn agents(patient: &Patient) -> Vec<Check> {
    let Ok(agents) = patient.ctx.host_calls().agents().await else {
        return Vec::new();
    };
    let mut bad: Vec<Check> = agents
        .iter()
        .filter_map(|agent| {
            let remedy = match agent.state.as_str() {
                "failed" | "unreachable" => {
                    format!("`hive logs {0}`, then `hive agent restart {0}`", agent.name)
                }
                "needs_login" => "correct the model's key, then restart hived".to_owned(),
                _ => return None,
            };
            let detail = match agent.detail.as_str() {
                "" => String::new(),
                detail => format!(": {detail}"),
            };
            let text = format!("{} is {}{detail}", agent.name, agent.state);
            Some(Check::warn("agent", text, remedy))
        })
        .collect();
    if bad.is_empty() {
        bad.push(Check::ok(
            "agents",
            format!("{}, none in trouble", agents.len()),
        ));
    }
    bad
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::super::check::Verdict;
    use super::{Others, sockets};

    #[test]
    fn sockets_that_everybody_reaches_are_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(dir.path(), 0o700);
        assert_eq!(sockets(dir.path(), Others::Nobody).verdict, Verdict::Fail);
        let path = dir.path().join("operator.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        mode(&path, 0o660);
        assert_eq!(sockets(dir.path(), Others::Nobody).verdict, Verdict::Ok);
        mode(&path, 0o666);
        assert_eq!(sockets(dir.path(), Others::Nobody).verdict, Verdict::Fail);
        mode(dir.path(), 0o711);
        assert_eq!(sockets(dir.path(), Others::Operators).verdict, Verdict::Ok);
        mode(&path, 0o660);
        mode(dir.path(), 0o755);
        assert_eq!(sockets(dir.path(), Others::Nobody).verdict, Verdict::Fail);
    }
}
