//! Sessions, epochs, leases and deaths, with harnesses that the test plays by hand.

use std::time::Duration;

use hive_proto::v1::{
    BeatRequest, EndTurnRequest, FailureClass, HarnessState, MessageState, Outcome, Reason,
    RecvRequest,
};
use hive_tests::client::{Status, refusal};
use hive_tests::mail::{attempt, state};
use hive_tests::wait::{SOON, until};
use hive_tests::{Session, TestHive};

/// A hive whose agents run nothing, so that the test can be their harness.
async fn by_hand(agents: &[&str]) -> TestHive {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in agents {
        hive.create(name, "").await;
    }
    hive
}

fn reason<T: std::fmt::Debug>(result: Result<T, Status>) -> Reason {
    refusal(&result.expect_err("a refusal")).reason
}

/// Opens a session as a new instance once the broker has noticed that the last one is gone.
async fn successor(hive: &TestHive, name: &str) -> Session {
    until("a new harness is let in", SOON, || async {
        Session::open(hive.agent(name)).await.ok()
    })
    .await
}

#[tokio::test]
async fn two_harnesses_on_one_socket_one_is_served() {
    let hive = by_hand(&["bee"]).await;
    let mut first = hive.session("bee").await;
    assert_eq!(
        reason(Session::open(hive.agent("bee")).await),
        Reason::SessionTaken
    );
    hive.send("bee", "work").await;
    let got = first.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages.len(), 1);
    assert_eq!(got.messages[0].body, "work");
    first.end(got.turn_id, Outcome::Ok).await.unwrap();
    let epoch = first.epoch();
    drop(first);
    let second = successor(&hive, "bee").await;
    assert!(second.epoch() > epoch);
    assert!(!second.opened.resumed);
}

#[tokio::test]
async fn a_stale_epoch_changes_nothing() {
    let hive = by_hand(&["bee"]).await;
    let id = hive.send("bee", "work").await;
    let mut old = hive.session("bee").await;
    let taken = old.recv(1, 5_000).await.unwrap();
    old.directives = None;
    let mut new = successor(&hive, "bee").await;

    let epoch = old.epoch();
    let end = EndTurnRequest {
        epoch,
        turn_id: taken.turn_id,
        outcome: Outcome::Ok.into(),
        ..Default::default()
    };
    assert_eq!(reason(old.client.end_turn(end).await), Reason::StaleEpoch);
    let beat = BeatRequest {
        epoch,
        state: HarnessState::Idle.into(),
        ..Default::default()
    };
    assert_eq!(reason(old.client.beat(beat).await), Reason::StaleEpoch);
    let recv = RecvRequest {
        epoch,
        max: 1,
        ..Default::default()
    };
    assert_eq!(reason(old.client.recv(recv).await), Reason::StaleEpoch);
    // An epoch from the future is no better.
    let recv = RecvRequest {
        epoch: new.epoch() + 1,
        max: 1,
        ..Default::default()
    };
    assert_eq!(reason(old.client.recv(recv).await), Reason::StaleEpoch);

    let again = new.recv(1, 5_000).await.unwrap();
    assert_eq!(again.messages[0].id, id);
    assert!(again.messages[0].redelivered);
    assert_eq!(again.messages[0].attempt, 1);
    new.end(again.turn_id, Outcome::Ok).await.unwrap();
    let life = hive.acked(id, SOON).await;
    let outcomes: Vec<Outcome> = life.turns.iter().map(|turn| turn.outcome()).collect();
    assert_eq!(outcomes, [Outcome::Lost, Outcome::Ok]);
}

#[tokio::test]
async fn the_sixth_death_of_a_message_is_its_last() {
    let hive = by_hand(&["bee"]).await;
    let poison = hive.send("bee", "poison").await;
    let next = hive.send("bee", "next").await;
    for death in 1..=6 {
        let mut session = successor(&hive, "bee").await;
        let got = session.recv(1, 5_000).await.unwrap();
        assert_eq!(got.messages[0].id, poison, "death {death}");
        assert_eq!(got.messages[0].attempt, death - 1);
        drop(session);
    }
    let mut session = successor(&hive, "bee").await;
    let life = hive
        .until_life(poison, "is dead", SOON, |life| {
            state(life) == MessageState::Dead
        })
        .await;
    assert_eq!(life.turns.len(), 6);
    // The queue behind it goes on.
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages[0].id, next);
    // The operator was told, in the mailbox and in the list of dead letters.
    let notices = hive.mailbox("").await;
    let told = |message: &hive_proto::v1::Message| {
        message.from == "system" && message.body.contains(&poison.to_string())
    };
    assert!(notices.iter().any(told), "{notices:#?}");
    let listed = hive.hive(&["dead", "ls", "--json"]).await.expect_code(0);
    assert!(
        listed.stdout.contains(&format!("{poison}")),
        "{}",
        listed.stdout
    );
    // Given back, it is fresh.
    hive.hive(&["dead", "requeue", &poison.to_string()])
        .await
        .expect_code(0);
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!((got.messages[0].id, got.messages[0].attempt), (poison, 0));
}

#[tokio::test]
async fn parks_and_interrupts_do_not_count() {
    let hive = by_hand(&["bee"]).await;
    let id = hive.send("bee", "work").await;
    let mut session = hive.session("bee").await;
    let parks = [
        Outcome::RateLimited,
        Outcome::AuthFailed,
        Outcome::BudgetExhausted,
        Outcome::Interrupted,
        Outcome::RateLimited,
        Outcome::AuthFailed,
        Outcome::RateLimited,
    ];
    for park in parks {
        let got = session.recv(1, 5_000).await.unwrap();
        assert_eq!(
            (got.messages[0].id, got.messages[0].attempt),
            (id, 0),
            "{park:?}"
        );
        session.end(got.turn_id, park).await.unwrap();
    }
    let got = session.recv(1, 5_000).await.unwrap();
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    assert_eq!(attempt(&hive.acked(id, SOON).await), 0);
}

#[tokio::test]
async fn a_transient_failure_counts_and_backs_off() {
    let hive = by_hand(&["bee"]).await;
    let id = hive.send("bee", "work").await;
    hive.send("bee", "behind").await;
    let mut session = hive.session("bee").await;
    let got = session.recv(1, 5_000).await.unwrap();
    session
        .fail(got.turn_id, FailureClass::Overloaded)
        .await
        .unwrap();
    let life = hive.life(id).await;
    let message = life.message.unwrap();
    assert_eq!(
        (message.state(), message.attempt),
        (MessageState::Queued, 1)
    );
    assert!(message.not_before_ms > message.leased_at_ms);
    // What stands behind it waits: first in, first out.
    let nothing = session.recv(1, 300).await.unwrap();
    assert!(nothing.messages.is_empty(), "{nothing:?}");
    let got = session.recv(1, 10_000).await.unwrap();
    assert_eq!(got.messages[0].id, id);
}

#[tokio::test]
async fn a_final_failure_is_acked_and_reported() {
    let hive = by_hand(&["bee"]).await;
    let id = hive.send("bee", "work").await;
    let mut session = hive.session("bee").await;
    let got = session.recv(1, 5_000).await.unwrap();
    session
        .fail(got.turn_id, FailureClass::Refused)
        .await
        .unwrap();
    let life = hive.acked(id, SOON).await;
    assert_eq!(life.message.unwrap().result, "failed");
    let notices = hive.mailbox("").await;
    assert!(
        notices.iter().any(|notice| notice.from == "system"),
        "{notices:#?}"
    );
}

#[tokio::test]
async fn ends_that_are_not_ones_own_are_refused() {
    let hive = by_hand(&["bee", "wasp"]).await;
    hive.send("bee", "work").await;
    let mut bee = hive.session("bee").await;
    let mut wasp = hive.session("wasp").await;
    let got = bee.recv(1, 5_000).await.unwrap();
    assert_eq!(
        reason(wasp.end(got.turn_id, Outcome::Ok).await),
        Reason::NotPermitted
    );
    assert_eq!(
        reason(bee.end(987_654, Outcome::Ok).await),
        Reason::NotFound
    );
    assert!(
        !bee.end(got.turn_id, Outcome::Ok)
            .await
            .unwrap()
            .already_ended
    );
    assert!(
        bee.end(got.turn_id, Outcome::Ok)
            .await
            .unwrap()
            .already_ended
    );
}

#[tokio::test]
async fn a_poll_whose_client_went_away_takes_nothing() {
    let hive = by_hand(&["bee"]).await;
    let mut session = hive.session("bee").await;
    let gone = tokio::time::timeout(Duration::from_millis(200), session.recv(1, 60_000)).await;
    assert!(gone.is_err(), "nothing was sent yet");
    let id = hive.send("bee", "work").await;
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages[0].id, id);
    assert_eq!(
        (got.messages[0].attempt, got.messages[0].redelivered),
        (0, false)
    );
}

#[tokio::test]
async fn ten_thousand_abandoned_polls_leave_nothing() {
    // More polls a second than one agent may make: the limit is not what this is about.
    let mut hive = TestHive::builder()
        .by_hand()
        .set("limits.agent_rpcs_per_sec", 1_000_000)
        .start()
        .await;
    hive.create("bee", "").await;
    let mut session = hive.session("bee").await;
    let pid = hive.daemon().pid();
    let fds = || {
        std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count()
    };
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let epoch = session.epoch();
    let (fds_before, memory_before) = (fds(), memory());
    let mut abandoned = 0;
    for _ in 0..625 {
        let mut polls = tokio::task::JoinSet::new();
        // A connection of their own: the server closes one with more resets than any client needs.
        let fresh = hive.agent("bee");
        for _ in 0..16 {
            let mut client = fresh.clone();
            polls.spawn(async move {
                let poll = client.recv(RecvRequest {
                    epoch,
                    max: 1,
                    wait_ms: 60_000,
                    ..Default::default()
                });
                tokio::time::timeout(Duration::from_millis(20), poll)
                    .await
                    .is_err()
            });
        }
        abandoned += polls
            .join_all()
            .await
            .into_iter()
            .filter(|gone| *gone)
            .count();
    }
    assert_eq!(abandoned, 10_000, "some polls were answered at once");
    let id = hive.send("bee", "work").await;
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages[0].id, id);
    assert!(!got.messages[0].redelivered);
    assert!(
        fds() <= fds_before + 5,
        "{} descriptors, {fds_before} before",
        fds()
    );
    let grown = memory().saturating_sub(memory_before);
    assert!(grown < 30_000, "grown by {grown} KiB");
}

#[tokio::test]
async fn a_paused_agent_gets_no_work() {
    let hive = by_hand(&["bee"]).await;
    let mut session = hive.session("bee").await;
    hive.hive(&["agent", "pause", "bee"]).await.expect_code(0);
    session.beat(HarnessState::Paused).await.unwrap();
    assert_eq!(hive.state("bee").await, "paused");
    let id = hive.send("bee", "work").await;
    hive.hive(&["agent", "resume", "bee"]).await.expect_code(0);
    session.beat(HarnessState::Idle).await.unwrap();
    let got = session.recv(1, 5_000).await.unwrap();
    assert_eq!(got.messages[0].id, id);
}
