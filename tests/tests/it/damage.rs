//! What a damaged, newer, foreign or full data directory does: refuse clearly, or go on losing nothing.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::v1::{GetStatusRequest, Reason};
use hive_tests::TestHive;
use hive_tests::client::refusal;
use hive_tests::daemon::Ended;
use hive_tests::wait::{SOON, until};

/// A stopped hive with twenty messages for `bee`.
async fn stored() -> TestHive {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    for n in 0..20 {
        hive.send("bee", &format!("{n} {}", "x".repeat(2_000)))
            .await;
    }
    hive.terminate().await;
    hive
}

fn database(hive: &TestHive) -> PathBuf {
    hive.home().join("hive.db")
}

/// Starts `hived` and expects that it refuses with one clear line, leaving no socket and the file as it is.
async fn refuses(hive: &mut TestHive, word: &str) {
    let before = std::fs::read(database(hive)).unwrap();
    // Whoever was killed left its socket; nobody listens there.
    _ = std::fs::remove_file(hive.operator_socket());
    let said = hive.log().len();
    hive.spawn(hive.hived_command());
    let ended = hive.ended(SOON).await;
    assert!(matches!(ended, Ended::Code(code) if code != 0), "{ended:?}");
    let log = hive.log()[said..].to_owned();
    assert!(log.contains(word), "does not say {word:?}:\n{log}");
    assert!(!log.contains("panicked"), "{log}");
    assert!(!hive.operator_socket().exists(), "left a socket behind");
    assert!(
        std::fs::read(database(hive)).unwrap() == before,
        "the file was changed"
    );
}

#[tokio::test]
async fn a_zeroed_header_is_refused() {
    let mut hive = stored().await;
    let mut bytes = std::fs::read(database(&hive)).unwrap();
    bytes[..100].fill(0);
    std::fs::write(database(&hive), &bytes).unwrap();
    refuses(&mut hive, "hive.db").await;
}

#[tokio::test]
async fn a_cut_off_file_is_refused() {
    let mut hive = stored().await;
    let bytes = std::fs::read(database(&hive)).unwrap();
    for keep in [10, 4096, bytes.len() / 2] {
        std::fs::write(database(&hive), &bytes[..keep]).unwrap();
        refuses(&mut hive, "hive.db").await;
    }
}

#[tokio::test]
async fn a_damaged_page_is_refused() {
    let mut hive = stored().await;
    let mut bytes = std::fs::read(database(&hive)).unwrap();
    // The second page's own header: the kind of tree that it belongs to.
    bytes[4096..4104].fill(0xa5);
    std::fs::write(database(&hive), &bytes).unwrap();
    refuses(&mut hive, "hive.db").await;
}

#[tokio::test]
async fn an_emptied_file_beside_its_log_is_refused() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    hive.send("bee", "only in the log").await;
    hive.kill().await;
    let wal = hive.home().join("hive.db-wal");
    assert!(
        wal.metadata().unwrap().len() > 0,
        "the log holds what was sent"
    );
    std::fs::write(database(&hive), b"").unwrap();
    refuses(&mut hive, "hive.db").await;
    std::fs::remove_file(database(&hive)).unwrap();
    hive.spawn(hive.hived_command());
    assert_ne!(hive.ended(SOON).await, Ended::Code(0));
    assert!(
        !database(&hive).exists(),
        "started empty beside somebody's log"
    );
}

#[tokio::test]
async fn a_foreign_log_is_refused() {
    // SQLite would pass over it in silence, and over everything that was only in there.
    let mut hive = stored().await;
    std::fs::write(hive.home().join("hive.db-wal"), vec![0x5a; 70_000]).unwrap();
    refuses(&mut hive, "hive.db").await;
    std::fs::remove_file(hive.home().join("hive.db-wal")).unwrap();
    hive.start().await;
    assert_eq!(hive.mailbox("bee").await.len(), 20);
}

#[tokio::test]
async fn a_newer_schema_is_refused_untouched() {
    let mut hive = stored().await;
    let mut bytes = std::fs::read(database(&hive)).unwrap();
    // `user_version` stands at byte 60 (sqlite.org/fileformat.html).
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(database(&hive), &bytes).unwrap();
    refuses(&mut hive, "99").await;
}

#[tokio::test]
async fn a_backup_under_load_is_a_prefix_and_can_be_restored() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let mut operator = hive.operator();
    let sending = async {
        for n in 0..400 {
            let request = hive_proto::v1::SendRequest {
                to: "bee".to_owned(),
                body: format!("{n}"),
                ..Default::default()
            };
            operator.send(request).await.unwrap();
        }
    };
    let file = hive.home().with_file_name("copy.db");
    let path = file.to_str().unwrap();
    let taking = async {
        until("some are sent", SOON, || async {
            (hive.mailbox("bee").await.len() > 50).then_some(())
        })
        .await;
        hive.hive(&["backup", "-o", path]).await.expect_code(0);
    };
    tokio::join!(sending, taking);
    // Refused while it runs, and refused over a database without force.
    hive.hive(&["restore", path]).await.expect_code(4);
    hive.terminate().await;
    let ran = hive.hive(&["restore", path]).await;
    assert!(ran.code == 4 || ran.code == 1, "{ran:?}");
    hive.hive(&["restore", "--force", path])
        .await
        .expect_code(0);
    hive.start().await;
    let bodies: Vec<String> = hive
        .mailbox("bee")
        .await
        .into_iter()
        .map(|m| m.body)
        .collect();
    assert!(bodies.len() > 50, "{}", bodies.len());
    let expected: Vec<String> = (0..bodies.len()).map(|n| n.to_string()).collect();
    assert_eq!(bodies, expected, "not a prefix of what was sent");
    hive.send("bee", "goes on").await;
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let mut hive = TestHive::builder().by_hand().prepare();
    let home = hive.home();
    let home_text = home.to_str().unwrap().to_owned();
    let config = std::fs::read_to_string(home.join("hive.toml")).unwrap();
    // A small disk of its own, seen by this hived alone.
    let mount = format!(
        "mount -t tmpfs -o size=12m,mode=700 tmpfs {home_text} && printf %s \"$CONFIG\" >{home_text}/hive.toml && exec \"$@\""
    );
    // Only root can give an agent its directories; anyone else becomes root of a namespace for it.
    let flags = if rustix::process::getuid().is_root() {
        "-m"
    } else {
        "-rm"
    };
    let wrapper = ["unshare", flags, "bash", "-c", &mount, "--"];
    let mut command = hive.wrapped_command(&wrapper);
    command.env("CONFIG", config);
    hive.start_as(command).await;
    hive.create("bee", "").await;
    let first = hive.send("bee", "first").await;

    // The disk as this hived sees it.
    let inside = PathBuf::from(format!("/proc/{}/root{home_text}", hive.daemon().pid()));
    assert!(inside.join("hive.db").exists());
    let filler = inside.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let full = std::io::copy(&mut std::io::repeat(1), &mut file);
    assert!(full.is_err(), "the disk is not full");
    drop(file);

    let body = "x".repeat(100_000);
    let mut refused = Vec::new();
    let mut sent = Vec::new();
    while refused.len() < 5 && sent.len() < 500 {
        let key = format!("key {}", sent.len() + refused.len());
        match hive.try_send("bee", &format!("{key} {body}"), &key).await {
            Ok(answer) => sent.push(answer.id),
            Err(status) => {
                assert_eq!(refusal(&status).reason, Reason::StorageFull, "{status:?}");
                refused.push(key);
            }
        }
    }
    assert_eq!(refused.len(), 5, "it never got full");
    // It lives, reads work, and it says what is wrong.
    assert_eq!(hive.life(first).await.message.unwrap().body, "first");
    assert_eq!(hive.mailbox("bee").await.len(), 1 + sent.len());
    let status = hive
        .operator()
        .get_status(GetStatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert!(!status.store.unwrap().error.is_empty());

    std::fs::remove_file(&filler).unwrap();
    for key in &refused {
        let answer = hive
            .try_send("bee", &format!("{key} {body}"), key)
            .await
            .unwrap();
        assert!(
            !answer.duplicate,
            "{key} was stored although it was refused"
        );
    }
    let status = hive
        .operator()
        .get_status(GetStatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(status.store.unwrap().error, "");
    tokio::time::timeout(Duration::from_secs(20), hive.kill())
        .await
        .unwrap();
}
