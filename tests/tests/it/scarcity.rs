//! What `hived` does without something that a healthy host has: a writable directory, room for logs,
//! descriptors.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use hive_proto::v1::{GetStatusRequest, Outcome};
use hive_tests::TestHive;
use hive_tests::daemon::Ended;
use hive_tests::wait::{SOON, pass, until};

/// Runs `hived` in a mount name space of its own, after `line` was run there.
fn prepared(hive: &TestHive, line: &str) -> std::process::Command {
    // Only root may mount; anyone else becomes root of a name space for it.
    let flags = if rustix::process::getuid().is_root() {
        "-m"
    } else {
        "-rm"
    };
    let line = format!("{line} && exec \"$@\"");
    hive.wrapped_command(&["unshare", flags, "bash", "-c", &line, "--"])
}

#[tokio::test]
async fn a_read_only_directory_is_refused_in_one_line() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    hive.send("bee", "hello").await;
    hive.terminate().await;
    for folder in [hive.home(), hive.run_dir()] {
        let path = folder.display();
        let line = format!("mount --bind {path} {path} && mount -o remount,bind,ro {path}");
        let said = hive.log().len();
        let command = prepared(&hive, &line);
        hive.spawn(command);
        let ended = hive.ended(SOON).await;
        assert_eq!(ended, Ended::Code(1), "{}", hive.log());
        let log = hive.log()[said..].to_owned();
        let errors: Vec<&str> = log
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "{log}");
        let named = errors[0].contains(&path.to_string());
        assert!(
            named && errors[0].contains("Read-only file system"),
            "{log}"
        );
        assert!(!log.contains("panicked"), "{log}");
        assert!(!hive.operator_socket().exists(), "left a socket behind");
    }
    // Nothing was changed: it goes on where it was.
    hive.start().await;
    assert_eq!(hive.mailbox("bee").await.len(), 1);
}

#[tokio::test]
async fn a_full_log_disk_loses_log_lines_and_nothing_else() {
    let mut hive = TestHive::builder()
        .by_hand()
        .env("RUST_LOG", "debug")
        .prepare();
    let logs = hive.home().join("logs");
    std::fs::create_dir(&logs).unwrap();
    let path = logs.display();
    let line = format!("mount -t tmpfs -o size=64k,mode=700 tmpfs {path} && exec 2>/dev/full");
    let command = prepared(&hive, &line);
    hive.start_as(command).await;
    let pid = hive.daemon().pid();
    hive.create("bee", "").await;
    let mut session = hive.session("bee").await;
    let lost = || async {
        let status = hive.operator().get_status(GetStatusRequest {}).await;
        status.unwrap().into_inner().lost_log_lines
    };
    let inside = PathBuf::from(format!("/proc/{pid}/root{path}"));
    let mut filler = std::fs::File::create(inside.join("filler")).unwrap();
    let full = std::io::copy(&mut std::io::repeat(1), &mut filler);
    assert!(full.is_err(), "the disk is not full");
    let before = lost().await;
    for n in 0..20 {
        let id = hive.send("bee", &format!("{n}")).await;
        let got = session.recv(1, 5_000).await.unwrap();
        assert_eq!(got.messages[0].id, id);
        let ended = session.end(got.turn_id, Outcome::Ok).await;
        ended.unwrap();
    }
    assert!(lost().await > before && before > 0, "{before}");
    let shown = hive.hive(&["status"]).await.expect_code(0);
    assert!(shown.stdout.contains("log lines lost"), "{}", shown.stdout);
    assert_eq!(hive.terminate().await, Ended::Code(0));
}

#[tokio::test]
async fn without_descriptors_connections_wait_and_the_rest_goes_on() {
    let mut hive = TestHive::builder().by_hand().prepare();
    let command = hive.wrapped_command(&["prlimit", "--nofile=128:128"]);
    hive.start_as(command).await;
    hive.create("bee", "").await;
    let mut session = hive.session("bee").await;
    let mut operator = hive.operator();
    operator.get_status(GetStatusRequest {}).await.unwrap();
    let pid = hive.daemon().pid();
    let open = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count()
    };
    // More than it can take; they say nothing, so that each costs a descriptor for as long as it may.
    let flood: Vec<UnixStream> = (0..200)
        .map(|_| UnixStream::connect(hive.operator_socket()).unwrap())
        .collect();
    until("they are used up", SOON, || {
        std::future::ready((open() >= 127).then_some(()))
    })
    .await;
    let said = hive.log().len();
    // Those who are connected go on.
    let request = hive_proto::v1::SendRequest {
        to: "bee".to_owned(),
        body: "hello".to_owned(),
        ..Default::default()
    };
    let id = operator.send(request).await.unwrap().into_inner().id;
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages[0].id, id);
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    pass(Duration::from_secs(2)).await;
    // Who cannot accept waits before the next try.
    let log = hive.log()[said..].to_owned();
    let tries = log.matches("cannot accept").count();
    assert!(
        (1..60).contains(&tries),
        "{tries} tries in two seconds\n{log}"
    );
    drop(flood);
    hive.hive(&["status"]).await.expect_code(0);
    assert_eq!(hive.life(id).await.turns.len(), 1);
    assert_eq!(hive.terminate().await, Ended::Code(0));
}
