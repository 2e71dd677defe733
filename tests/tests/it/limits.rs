//! Keys of `[limits]` in `hive.toml`: a changed one acts.

use std::time::Duration;

use hive_proto::v1::{FailureClass, MessageState};
use hive_tests::TestHive;
use hive_tests::daemon::{Ended, send};
use hive_tests::mail::state;
use hive_tests::wait::{SOON, until};
use rustix::process::Signal;

use crate::kills::{HELD, started};

#[tokio::test]
async fn with_one_attempt_the_second_death_is_the_last() {
    let mut hive = TestHive::builder()
        .by_hand()
        .set("limits.attempts", 1)
        .set("limits.backoff_min_secs", 1)
        .set("limits.backoff_max_secs", 1)
        .start()
        .await;
    hive.create("bee", "").await;
    let id = hive.send("bee", "poison").await;
    let mut session = hive.session("bee").await;
    for attempt in 0..2 {
        let got = session.recv(1, 5_000).await.unwrap();
        assert_eq!((got.messages[0].id, got.messages[0].attempt), (id, attempt));
        let class = FailureClass::Network;
        session.fail(got.turn_id, class).await.unwrap();
    }
    let life = hive.life(id).await;
    assert_eq!(state(&life), MessageState::Dead);
    assert_eq!(life.turns.len(), 2);
}

#[tokio::test]
async fn with_no_restarts_the_first_death_of_an_agent_is_the_last() {
    let mut hive = TestHive::builder()
        .script(HELD)
        .set("limits.restarts", 0)
        .start()
        .await;
    hive.create("bee", "").await;
    hive.send("bee", "hello").await;
    started(&hive, "bee", 1).await;
    for pid in hive.agent_processes() {
        send(pid, Signal::KILL);
    }
    hive.until_state("bee", "failed", SOON).await;
}

#[tokio::test]
async fn a_harness_beats_as_often_as_its_lease_needs() {
    let mut hive = TestHive::builder()
        .by_hand()
        .set("limits.lease_secs", 20)
        .start()
        .await;
    hive.create("bee", "").await;
    let session = hive.session("bee").await;
    assert_eq!(session.opened.beat_interval_ms, 5_000);
}

#[tokio::test]
async fn every_fault_is_said_before_anything_is_made() {
    let mut hive = TestHive::builder()
        .by_hand()
        .set("limits.attempts", 5_000)
        .set("limits.lease_secs", 1)
        .set("limits.backoff_min_secs", 60)
        .set("limits.backoff_max_secs", 5)
        .prepare();
    hive.spawn(hive.hived_command());
    let ended = hive.ended(SOON).await;
    assert!(matches!(ended, Ended::Code(code) if code != 0), "{ended:?}");
    for fault in [
        "limits.attempts: 5000 is not between 0 and 1000",
        "limits.lease_secs: 1 is not between 20 and 3600",
        "limits.backoff_max_secs: 5 is less than backoff_min_secs, which is 60",
    ] {
        until(fault, Duration::from_secs(5), || {
            std::future::ready(hive.log().contains(fault).then_some(()))
        })
        .await;
    }
    assert!(!hive.home().join("hive.db").exists());
}
