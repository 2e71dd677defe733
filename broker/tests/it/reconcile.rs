//! Reconcilers under a clock that jumps, and the driver's results.

use std::sync::Arc;

use hive_proto::ids::UnixMs;
use hive_proto::v1::{FailureClass, MessageState, Outcome};
use hived::inbox::{Sender, WaitingKind};
use hived::model::message::Delivery;
use hived::model::retention::Terms;
use hived::reconcile::{Leases, Reconcilers, Retention, Stalled};
use hived::store::Recipient;
use hived::turns::TurnError;

use crate::kit::{Core, START, run, secs};

const OPERATOR: Sender = Sender::Operator;
const DAY: u64 = 24 * 60 * 60;

#[tokio::test(flavor = "multi_thread")]
async fn dl3_dl7_a_silent_session_loses_its_lease_after_a_minute_and_its_word() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let _stream = core.sessions.attend(scout, epoch).await.unwrap();
    let id = core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    for _ in 0..3 {
        core.time.advance(secs(20));
        let lost = run(&core.leases).await.get("lost");
        assert_eq!(lost, usize::from(core.sessions.live(scout).is_none()));
    }
    let row = core.message(id).await;
    assert_eq!((row.state, row.attempt), (MessageState::Queued, 1));
    let late = core
        .try_end(scout, epoch, turn, Outcome::Ok, FailureClass::Unspecified)
        .await;
    assert!(matches!(late, Err(TurnError::Stale { .. })));
    // Running it again changes nothing.
    assert_eq!(run(&core.leases).await.get("lost"), 0);
    // The same process, awake again, gets a new epoch and the message once more.
    let opened = core.open(scout, "a").await;
    assert!(opened > epoch);
    assert_eq!(
        core.take(scout, opened, 1).await.rows[0].delivery,
        Delivery::Again
    );
    let kinds = core.kinds().await;
    for kind in ["session.lost", "turn.refused", "message.requeued"] {
        assert!(kinds.iter().any(|one| one == kind), "{kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beating_session_keeps_its_lease() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    for _ in 0..20 {
        core.time.advance(secs(15));
        core.beat(scout, epoch).await;
        assert_eq!(run(&core.leases).await.get("lost"), 0);
    }
    core.end(scout, epoch, turn, Outcome::Ok).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cr24_the_wall_clock_moves_no_lease() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let hour = 3_600_000;
    for wall in [hour, -hour, 365 * 24 * hour, 0] {
        core.time.set_wall(START.plus_ms(wall));
        assert_eq!(run(&core.leases).await.get("lost"), 0);
        run(&core.retention).await;
    }
    core.end(scout, epoch, turn, Outcome::Ok).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cr24_a_clock_set_back_holds_no_message() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let class = FailureClass::Network;
    core.try_end(scout, epoch, turn, Outcome::Failed, class)
        .await
        .unwrap();
    assert!(core.take(scout, epoch, 1).await.rows.is_empty());
    core.time.set_wall(START.plus_ms(-3_600_000));
    assert_eq!(core.take(scout, epoch, 1).await.rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cr27_a_broker_that_stood_still_blames_nobody() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    core.take(scout, epoch, 1).await;
    run(&core.leases).await;
    core.time.advance(secs(120));
    assert_eq!(run(&core.leases).await.get("lost"), 0);
    assert!(core.sessions.live(scout).is_some());
    // But a minute of listening later the silence counts.
    for _ in 0..3 {
        core.time.advance(secs(20));
        run(&core.leases).await;
    }
    assert!(core.sessions.live(scout).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_keeps_what_is_young_or_unfinished() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let old = core.send(OPERATOR, "scout", "old").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let answer = core.send(Sender::Agent(scout), "operator", "unread").await;
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let waiting = core.send(OPERATOR, "scout", "waiting").await;

    core.time.advance(secs(29 * DAY));
    assert_eq!(run(&core.retention).await.get("messages deleted"), 0);
    core.time.advance(secs(2 * DAY));
    let report = run(&core.retention).await;
    assert_eq!(
        (report.get("messages deleted"), report.get("turns deleted")),
        (1, 0)
    );
    assert!(core.inbox.life(old).await.is_err());
    // The answer outlives what it answers.
    assert_eq!(core.message(answer).await.in_reply_to, None);
    assert_eq!(core.message(waiting).await.state, MessageState::Queued);
    assert!(
        !core
            .kinds()
            .await
            .iter()
            .any(|kind| kind == "session.opened")
    );
    core.time.advance(secs(60 * DAY));
    assert_eq!(run(&core.retention).await.get("turns deleted"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_is_kept_as_long_as_its_own_key_says() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let keep = Terms {
        acked_mail: 1,
        turns: 2,
        stream_events: 3,
        events: 4,
    };
    let retention = Retention::new(core.store.clone(), core.time.clock()).keeping(keep);
    let has = |kinds: &[String], word: &str| kinds.iter().any(|kind| kind == word);
    let mut left = Vec::new();
    for _ in 0..5 {
        let report = run(&retention).await;
        let kinds = core.kinds_or_none().await;
        left.push((
            report.get("messages deleted"),
            report.get("turns deleted"),
            has(&kinds, "session.opened"),
            has(&kinds, "message.acked"),
        ));
        // By and by: a jump would not be believed.
        core.time.advance(secs(DAY + 1));
    }
    let expected = [
        (0, 0, true, true),
        (1, 0, true, true),
        (0, 1, true, true),
        (0, 0, false, true),
        (0, 0, false, false),
    ];
    assert_eq!(left, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_a_day_outlives_a_start_with_a_clock_two_days_ahead() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let days = i64::try_from(2 * DAY).unwrap() * 1_000;
    core.time.set_wall(UnixMs(START.0 + days));
    let keep = Terms {
        acked_mail: 1,
        ..Terms::default()
    };
    let retention = Retention::new(core.store.clone(), core.time.clock()).keeping(keep);
    assert_eq!(run(&retention).await.get("messages deleted"), 0);
    core.time.advance(secs(DAY));
    assert_eq!(run(&retention).await.get("messages deleted"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_stalled_after_the_time_that_was_set() {
    let core = Core::new();
    core.agent("scout").await;
    core.send(OPERATOR, "scout", "1").await;
    let stalled = Stalled::new(core.store.clone(), core.time.clock()).after(secs(120));
    core.time.advance(secs(119));
    assert_eq!(run(&stalled).await.get("stalled"), 0);
    core.time.advance(secs(2));
    assert_eq!(run(&stalled).await.get("stalled"), 1);
    let told = core.mail(Recipient::Operator).await;
    assert!(told[0].1.contains("for 2 minutes"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_lives_as_long_as_its_lease() {
    for lease in [20, 300] {
        let core = Core::new().leasing(secs(lease));
        let scout = core.agent("scout").await;
        let epoch = core.open(scout, "a").await;
        let _stream = core.sessions.attend(scout, epoch).await.unwrap();
        // In steps in which the broker has not stood still.
        for _ in 0..3 {
            core.time.advance(secs(lease / 4));
            assert_eq!(run(&core.leases).await.get("lost"), 0);
        }
        core.time.advance(secs(lease / 4));
        assert_eq!(run(&core.leases).await.get("lost"), 1, "{lease}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jump_of_the_clock_deletes_nothing_for_a_day() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let year = i64::try_from(365 * DAY).unwrap() * 1_000;
    core.time.set_wall(UnixMs(START.0 + year));
    for _ in 0..23 {
        let report = run(&core.retention).await;
        assert_eq!(report.get("messages deleted"), 0, "{report}");
        core.time.advance(secs(3_600));
    }
    core.time.advance(secs(3_600));
    assert_eq!(run(&core.retention).await.get("messages deleted"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_at_the_start_deletes_nothing_for_a_day() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let year = i64::try_from(365 * DAY).unwrap() * 1_000;
    core.time.set_wall(UnixMs(START.0 + year));
    // A broker that starts with this clock has never known another one.
    let retention = Retention::new(core.store.clone(), core.time.clock());
    core.send(OPERATOR, "scout", "written with the wrong time")
        .await;
    for _ in 0..24 {
        let report = run(&retention).await;
        assert_eq!(report.get("messages deleted"), 0, "{report}");
        core.time.advance(secs(3_600));
    }
    // It was a long holiday, then.
    assert_eq!(run(&retention).await.get("messages deleted"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_mail_is_told_once_to_sender_and_operator() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let coder = core.agent("coder").await;
    for body in ["1", "2", "3"] {
        core.send(Sender::Agent(coder), "scout", body).await;
    }
    core.time.advance(secs(15 * 60 - 1));
    assert_eq!(run(&core.stalled).await.get("stalled"), 0);
    core.time.advance(secs(2));
    assert_eq!(run(&core.stalled).await.get("stalled"), 3);
    for told in [Recipient::Operator, Recipient::Agent(coder)] {
        let mail = core.mail(told).await;
        assert_eq!(mail.len(), 1, "{mail:?}");
        assert!(mail[0].1.contains("1, 2, 3"), "{mail:?}");
    }
    // Neither again nor for the notices themselves.
    core.time.advance(secs(3_600));
    assert_eq!(run(&core.stalled).await.get("stalled"), 0);
    let waiting = core.inbox.waiting().await.unwrap();
    assert!(
        waiting
            .iter()
            .any(|one| one.kind == WaitingKind::Stalled && one.agent == "scout")
    );
    let epoch = core.open(scout, "a").await;
    assert_eq!(core.take(scout, epoch, 32).await.rows.len(), 3);
    let waiting = core.inbox.waiting().await.unwrap();
    assert!(!waiting.iter().any(|one| one.kind == WaitingKind::Stalled));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_driver_keeps_the_last_result_of_each() {
    let core = Core::new();
    let clock = core.time.clock();
    let reconcilers = Reconcilers::new(
        vec![
            Arc::new(Leases::new(core.sessions.clone(), clock.clone())),
            Arc::new(Stalled::new(core.store.clone(), clock.clone())),
        ],
        clock,
    );
    assert!(
        reconcilers
            .statuses()
            .iter()
            .all(|status| status.last.is_none())
    );
    reconcilers.run_now("leases").await;
    let statuses = reconcilers.statuses();
    let leases = statuses[0].last.as_ref().unwrap();
    assert_eq!(
        leases.result.as_ref().unwrap().to_string(),
        "0 sessions, 0 lost"
    );
    assert!(statuses[1].last.is_none());
    reconcilers.start(&core.tasks);
    reconcilers.nudge("stalled");
    let end = core
        .tasks
        .drain(hived::shutdown::GRACE, std::future::pending())
        .await;
    assert_eq!(end, hived::shutdown::End::Drained);
}
