//! `hive backup` while it runs, `hive restore` while it does not.

use std::os::unix::fs::PermissionsExt as _;

use hive_tests::TestHive;

#[tokio::test]
async fn a_backup_of_a_running_hive_restores_elsewhere() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.hive(&["agent", "pause", "bee"]).await.expect_code(0);
    let id = hive.send("bee", "remember me").await;
    let file = hive.home().join("copy.db");
    let file = file.to_str().unwrap();
    hive.hive(&["backup", "-o", file]).await.expect_code(0);
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Never over an existing file.
    hive.hive(&["backup", "-o", file]).await.expect_code(1);

    let mut other = TestHive::builder().prepare();
    other.hive(&["restore", file]).await.expect_code(0);
    other.start().await;
    let id = id.to_string();
    let shown = other.hive(&["message", "show", &id, "--json"]).await;
    assert_eq!(shown.expect_code(0).json()["body"], "remember me");
}

#[tokio::test]
async fn a_restore_refuses_a_running_daemon_and_an_existing_database() {
    let mut hive = TestHive::builder().start().await;
    let file = hive.home().join("copy.db");
    let file = file.to_str().unwrap();
    hive.hive(&["backup", "-o", file]).await.expect_code(0);
    hive.create("bee", "").await;
    hive.hive(&["restore", file, "--force"])
        .await
        .expect_code(4);
    hive.terminate().await;
    hive.hive(&["restore", file]).await.expect_code(4);
    hive.hive(&["restore", file, "--force"])
        .await
        .expect_code(0);
    let kept = std::fs::read_dir(hive.home().join("backups")).unwrap();
    assert!(kept.count() >= 1);
    hive.start().await;
    let list = hive.hive(&["agent", "ls", "--json"]).await.json();
    assert_eq!(list, serde_json::json!([]));
}

#[tokio::test]
async fn what_is_no_database_is_not_restored() {
    let hive = TestHive::builder().prepare();
    let file = hive.home().join("x.db");
    for bytes in [
        &b"not a database"[..],
        b"",
        b"SQLite format 3\0 and then nonsense",
    ] {
        std::fs::write(&file, bytes).unwrap();
        let ran = hive.hive(&["restore", file.to_str().unwrap()]).await;
        ran.expect_code(1);
        assert!(!hive.home().join("hive.db").exists());
    }
    hive.hive(&["restore", "/no/such/file"])
        .await
        .expect_code(1);
}
