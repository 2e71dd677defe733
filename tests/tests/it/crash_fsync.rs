//! A disk that refuses to flush: nothing is acked, the daemon stops, and says why.

use hive_tests::TestHive;
use hive_tests::daemon::Ended;
use hive_tests::strace::Attached;
use hive_tests::wait::SOON;

#[tokio::test]
async fn crash_a_failed_fsync_ends_the_daemon() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let before = hive.send("bee", "before").await;

    let strace = Attached::failing(hive.daemon().pid(), "fsync,fdatasync", "EIO").await;
    let refused = hive.try_send("bee", "refused", "eio").await;
    assert!(
        refused.is_err(),
        "acked although no flush worked: {refused:?}"
    );
    let ended = hive.ended(SOON).await;
    assert!(
        matches!(ended, Ended::Code(code) if code != 0),
        "a failed flush must end it by itself and with an error: {ended:?}"
    );
    drop(strace);
    assert!(
        hive.log().contains("did not reach the disk"),
        "the log does not say why"
    );

    // A sound disk again: what was acked is there, what was refused is there at most once.
    hive.start().await;
    assert_eq!(hive.life(before).await.message.unwrap().body, "before");
    let mailbox = hive.mailbox("bee").await;
    let copies = mailbox.iter().filter(|m| m.body == "refused").count();
    assert!(copies <= 1, "{copies} copies of a refused message");
    let again = hive.try_send("bee", "refused", "eio").await.unwrap();
    assert_eq!(again.duplicate, copies == 1);
}
