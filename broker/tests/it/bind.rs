//! Sockets at a path: what is stale is replaced, what is alive or something else is left alone.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use hive_proto::ids::AgentId;
use hived::bind::{BindError, Owner, bind};
use hived::paths::Paths;
use hived::sockets::Sockets;
use tokio::net::UnixStream;

#[tokio::test]
async fn a_stale_socket_is_replaced_and_has_its_mode_under_any_umask() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    drop(bind(&path, 0o660, Owner::Own).unwrap());
    let old = std::fs::metadata(&path).unwrap();
    assert!(old.file_type().is_socket(), "nothing stale is left");
    let _listener = bind(&path, 0o600, Owner::Own).unwrap();
    let new = std::fs::metadata(&path).unwrap();
    assert_eq!(new.mode() & 0o7777, 0o600);
    UnixStream::connect(&path).await.unwrap();
}

#[tokio::test]
async fn a_live_socket_is_never_unlinked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let first = bind(&path, 0o600, Owner::Own).unwrap();
    let refused = bind(&path, 0o600, Owner::Own);
    assert!(matches!(refused, Err(BindError::Alive(_))), "{refused:?}");
    let client = UnixStream::connect(&path).await.unwrap();
    first.accept().await.unwrap();
    drop(client);
}

#[tokio::test]
async fn a_file_or_a_link_in_the_way_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("precious");
    std::fs::write(&file, "text").unwrap();
    let link = dir.path().join("a.sock");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        let refused = bind(path, 0o600, Owner::Own);
        assert!(
            matches!(refused, Err(BindError::NotASocket(_))),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
}

#[tokio::test]
async fn an_agents_directory_survives_a_restart_and_goes_with_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("r");
    let paths = Paths::new(dir.path().join("h"), run.clone()).unwrap();
    let uid = rustix::process::getuid().as_raw();
    let name = "bee".parse().unwrap();
    let folder = run.join("agents/bee");
    let names = |folder: &std::path::Path| {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };

    let (sockets, mut doors) = Sockets::new(paths.clone(), uid);
    sockets.open(AgentId(1), &name).await.unwrap();
    sockets.open(AgentId(1), &name).await.unwrap();
    let inode = std::fs::metadata(&folder).unwrap().ino();
    assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(names(&folder), ["broker.sock", "gateway.sock", "mcp.sock"]);
    let door = doors.try_recv().unwrap();
    assert!(doors.try_recv().is_err(), "opened twice");
    drop((door, sockets, doors));

    // The broker was killed: its files are there, its listeners are not.
    let (sockets, mut doors) = Sockets::new(paths, uid);
    sockets.open(AgentId(1), &name).await.unwrap();
    assert_eq!(std::fs::metadata(&folder).unwrap().ino(), inode);
    let door = doors.try_recv().unwrap();
    UnixStream::connect(folder.join("mcp.sock")).await.unwrap();

    // Purged and made anew under the same name: the old one's sockets end.
    sockets.open(AgentId(2), &name).await.unwrap();
    assert!(door.closed.is_cancelled());
    let second = doors.try_recv().unwrap();
    assert_eq!(second.id, AgentId(2));
    sockets.close(&name).await;
    assert!(second.closed.is_cancelled());
    assert!(!folder.exists());
}
