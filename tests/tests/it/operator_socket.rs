//! The operator socket of a hive that lists operators: every user of the host can open it then.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use hive_tests::TestHive;
use hive_tests::stranger::{self, STRANGER};
use hive_tests::wait::{SOON, until};

/// A listed operator, who is neither root nor the stranger.
const LISTED: u32 = 65_500;
/// What an HTTP/2 client says first (RFC 9113, 3.4): the preface and empty settings. Whoever has said it is
/// asked nothing for a while.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A hive whose operator socket others can reach.
async fn reachable() -> TestHive {
    let listed: toml::Value = vec![i64::from(LISTED)].into();
    let hive = TestHive::builder()
        .by_hand()
        .set("operators", listed)
        .start()
        .await;
    let above = hive.run_dir().parent().unwrap().to_owned();
    std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o711)).unwrap();
    hive
}

#[tokio::test]
async fn another_user_is_told_that_it_may_not() {
    let hive = reachable().await;
    let ran = stranger::hive(&hive, STRANGER, &["status"])
        .await
        .expect_code(4);
    assert!(
        ran.stderr
            .starts_with("error: uid 65534 may not use the operator socket"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    // It left a trace.
    let mut events = hive.watch(0).await;
    let recorded = async {
        while let Some(event) = events.message().await.unwrap() {
            if event.kind == "operator.refused" {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, recorded).await.unwrap();
    stranger::hive(&hive, LISTED, &["status"])
        .await
        .expect_code(0);
}

#[tokio::test]
async fn another_users_connections_leave_room_for_operators() {
    let hive = reachable().await;
    for greeting in [b"".as_slice(), GREETING] {
        let held = stranger::connections(STRANGER, &hive.operator_socket(), 600, greeting);
        hive.hive(&["status"]).await.expect_code(0);
        stranger::hive(&hive, LISTED, &["status"])
            .await
            .expect_code(0);
        // Another stranger may find no room for a reason; it is told whose socket this is all the same.
        let ran = stranger::hive(&hive, STRANGER, &["status"]).await;
        assert!(
            ran.code != 0 && ran.stderr.contains("`operators`"),
            "{ran:?}"
        );
        // They end by themselves, those that were let in to be refused as well.
        until("they are closed", Duration::from_secs(10), || {
            std::future::ready(held.iter().all(is_closed).then_some(()))
        })
        .await;
    }
    // An honest one hears the reason again.
    stranger::hive(&hive, STRANGER, &["status"])
        .await
        .expect_code(4);
}

/// Whether the other side has closed it: what it may have said before is read.
fn is_closed(stream: &std::os::unix::net::UnixStream) -> bool {
    use std::io::Read as _;
    stream.set_nonblocking(true).unwrap();
    let mut stream = stream;
    let mut said = [0; 256];
    loop {
        match stream.read(&mut said) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}
