//! Another user of the host: its connections, and its `hive`.
//!
//! Only root can be somebody else, so tests that need it fail for other users.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Uid;
use rustix::thread::set_thread_uid;

use crate::command::Ran;
use crate::hive::TestHive;
use crate::programs;

/// Nobody in particular: not root, not an agent.
pub const STRANGER: u32 = 65_534;

/// Runs `act` as the user `uid`. The kernel takes a connection's uid from the thread that connects, so
/// the rest of the process stays who it is.
pub fn as_user<T: Send>(uid: u32, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_thread_uid(Uid::from_raw(uid)).expect("only root can be another user");
            act()
        });
        thread.join().expect("no panic before")
    })
}

/// `count` connections of `uid` to a socket, each after `greeting` was sent over it.
#[must_use]
pub fn connections(uid: u32, socket: &Path, count: usize, greeting: &[u8]) -> Vec<UnixStream> {
    use std::io::Write as _;
    as_user(uid, || {
        (0..count)
            .map(|n| {
                let mut stream =
                    UnixStream::connect(socket).unwrap_or_else(|error| panic!("{n}: {error}"));
                // One that was closed at once has been answered.
                let _ = stream.write_all(greeting);
                stream
            })
            .collect()
    })
}

/// Runs the `hive` command as another user, from a place where that user can read it.
pub async fn hive(hive: &TestHive, uid: u32, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir_in("/tmp").expect("a temporary directory");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).expect("its mode");
    let program = folder.path().join("hive");
    std::fs::copy(programs::hive(), &program).expect("a copy of hive");
    let mut command = Command::new(program);
    command.args(args).uid(uid).gid(uid).env_clear();
    command
        .env("HIVE_HOME", hive.home())
        .env("HIVE_RUN", hive.run_dir());
    let output = tokio::process::Command::from(command).output().await;
    Ran::of(&output.expect("hive runs"))
}
