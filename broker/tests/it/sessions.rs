//! Who serves an agent: epochs, fencing, the connected stream, beats.

use futures::StreamExt;
use hive_proto::ids::{Epoch, UnixMs};
use hive_proto::limits::LEVEL;
use hive_proto::v1::{FailureClass, HarnessState, Outcome};
use hived::inbox::{InboxError, Sender, Take};
use hived::model::message::Delivery;
use hived::model::outcome::Loss;
use hived::sessions::{Beaten, Connection, Directive, Doing, Hello, Opening, Reach, SessionError};
use hived::store::agents::{self, Pause};
use hived::turns::TurnError;

use crate::kit::{Core, bodies, idle, ids, run, secs};

const OPERATOR: Sender = Sender::Operator;

#[tokio::test(flavor = "multi_thread")]
async fn dl6_of_two_harnesses_exactly_one_gets_the_work() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.send(OPERATOR, "scout", "1").await;
    let (a, b) = tokio::join!(core.try_open(scout, "a"), core.try_open(scout, "b"));
    let (winner, loser) = match (a, b) {
        (Ok(opened), Err(refused)) => ((opened.epoch, "a"), (refused, "b")),
        (Err(refused), Ok(opened)) => ((opened.epoch, "b"), (refused, "a")),
        both => panic!("{both:?}"),
    };
    assert!(matches!(loser.0, SessionError::Taken));
    let _stream = core.sessions.attend(scout, winner.0).await.unwrap();
    // The refusal is stable as long as the winner is there and beats.
    for _ in 0..10 {
        core.time.advance(secs(30));
        core.beat(scout, winner.0).await;
        let refused = core.try_open(scout, loser.1).await;
        assert!(matches!(refused, Err(SessionError::Taken)));
    }
    assert_eq!(bodies(&core.take(scout, winner.0, 1).await), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_instance_resumes_its_turn_also_after_a_restart_of_the_broker() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let id = core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let again = core.try_open(scout, "a").await.unwrap();
    assert_eq!(
        (again.epoch, again.opening),
        (epoch, Opening::Resumed(Some(turn)))
    );

    let core = core.restart();
    // A session of before has a fresh minute, whoever looks first.
    core.time.advance(secs(50));
    assert_eq!(run(&core.leases).await.get("lost"), 0);
    let again = core.try_open(scout, "a").await.unwrap();
    assert_eq!(
        (again.epoch, again.opening),
        (epoch, Opening::Resumed(Some(turn)))
    );
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let row = core.message(id).await;
    assert_eq!(
        (row.result.as_str(), row.attempt, row.delivery),
        ("ok", 0, Delivery::First)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dl9_another_instance_fences_one_that_is_gone_and_gets_its_rows_in_their_order() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let old = core.open(scout, "a").await;
    let one = core.send(OPERATOR, "scout", "1").await;
    let two = core.send(OPERATOR, "scout", "2").await;
    let turn = core.take(scout, old, 2).await.turn.unwrap();
    let three = core.send(OPERATOR, "scout", "3").await;
    core.time.advance(secs(3));
    let new = core.open(scout, "b").await;
    assert!(new > old);
    let received = core.take(scout, new, 32).await;
    assert_eq!(ids(&received), [one, two, three]);
    let marks: Vec<_> = received
        .rows
        .iter()
        .map(|row| (row.delivery, row.attempt))
        .collect();
    assert_eq!(
        marks,
        [
            (Delivery::Again, 1),
            (Delivery::Again, 1),
            (Delivery::First, 0)
        ]
    );

    // DL4, DL7: the old holder's word does not count, and leaves its trace.
    let late = core
        .try_end(scout, old, turn, Outcome::Ok, FailureClass::Unspecified)
        .await;
    assert!(
        matches!(late, Err(TurnError::Stale { given }) if given == old),
        "{late:?}"
    );
    let polls = core.try_recv(scout, old, Take::Begin).await;
    assert!(matches!(polls, Err(InboxError::Stale { .. })));
    let beats = core.sessions.beat(scout, old, idle()).await;
    assert!(matches!(beats, Err(SessionError::Stale { .. })));
    assert!(core.sessions.attend(scout, old).await.is_err());
    assert!(core.story(one).await.contains(&"turn.refused".to_owned()));
    core.end(scout, new, received.turn.unwrap(), Outcome::Ok)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connected_but_silent_holder_is_fenced_after_a_minute_and_told_so() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let old = core.open(scout, "a").await;
    let mut stream = core.sessions.attend(scout, old).await.unwrap();
    assert_eq!(stream.next().await, Some(Directive::Attached));
    core.time.advance(secs(59));
    assert!(matches!(
        core.try_open(scout, "b").await,
        Err(SessionError::Taken)
    ));
    core.time.advance(secs(1));
    let new = core.open(scout, "b").await;
    assert_eq!(stream.next().await, Some(Directive::Fenced));
    assert_eq!(stream.next().await, None);
    drop(stream);
    // The end of the old stream says nothing of the new session.
    let _second = core.sessions.attend(scout, new).await.unwrap();
    let live = core.sessions.live(scout).unwrap();
    assert_eq!((live.epoch, live.connection), (new, Connection::Connected));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_is_being_away() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let connection = || core.sessions.live(scout).unwrap().connection;
    assert_eq!(connection(), Connection::Away);
    let first = core.sessions.attend(scout, epoch).await.unwrap();
    let second = core.sessions.attend(scout, epoch).await.unwrap();
    drop(first);
    assert_eq!(connection(), Connection::Connected);
    assert_eq!(core.sessions.direct(scout, Directive::Pause), Reach::Sent);
    drop(second);
    assert_eq!(connection(), Connection::Away);
    assert_eq!(
        core.sessions.direct(scout, Directive::Pause),
        Reach::NotConnected
    );
    core.time.advance(secs(3));
    assert!(core.open(scout, "b").await > epoch);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_daemon_stops() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let mut stream = core.sessions.attend(scout, epoch).await.unwrap();
    assert_eq!(stream.next().await, Some(Directive::Attached));
    core.tasks.stop();
    assert_eq!(stream.next().await, None);
    assert!(matches!(
        core.sessions.attend(scout, epoch).await.map(|_| ()),
        Err(SessionError::Stopping)
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beat_writes_only_what_is_new() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let before = core.kinds().await.len();
    for _ in 0..5 {
        core.beat(scout, epoch).await;
    }
    assert_eq!(core.kinds().await.len(), before);
    let parked = Doing {
        state: HarnessState::RateLimited,
        until: Some(UnixMs(5)),
        detail: "429".into(),
    };
    for _ in 0..2 {
        core.sessions
            .beat(scout, epoch, parked.clone())
            .await
            .unwrap();
    }
    assert_eq!(core.kinds().await.len(), before + 1);
    // Known again after a restart, before the first beat.
    let core = core.restart();
    core.sessions.restore().await.unwrap();
    let live = core.sessions.live(scout).unwrap();
    assert_eq!(
        (live.state, live.until),
        (HarnessState::RateLimited, Some(UnixMs(5)))
    );
    assert_eq!(
        (live.detail.as_str(), live.connection),
        ("429", Connection::Away)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_agent_is_told_with_every_beat_and_on_its_stream() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.store
        .write(move |tx| agents::set_paused(tx, scout, Pause::Paused))
        .await
        .unwrap();
    let beaten = core.sessions.beat(scout, epoch, idle()).await.unwrap();
    assert_eq!(beaten, Beaten::Paused);
    let mut stream = core.sessions.attend(scout, epoch).await.unwrap();
    assert_eq!(stream.next().await, Some(Directive::Attached));
    assert_eq!(stream.next().await, Some(Directive::Pause));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_agent_held_is_not_counted_and_what_a_dead_one_held_is() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.send(OPERATOR, "scout", "1").await;
    for (instance, loss, attempt) in [("a", Loss::Stopped, 0), ("b", Loss::WithHarness, 1)] {
        let epoch = core.open(scout, instance).await;
        let received = core.take(scout, epoch, 1).await;
        core.turns.release(scout, loss).await.unwrap();
        core.turns.release(scout, loss).await.unwrap();
        assert_eq!(core.sessions.live(scout), None);
        let row = core.message(received.rows[0].id).await;
        assert_eq!((row.attempt, row.delivery), (attempt, Delivery::Again));
    }
    // Nothing to release: nothing happens, also where there never was a session.
    let idle = core.agent("idle").await;
    core.turns.release(idle, Loss::WithHarness).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_served_levels_and_proper_instances_open() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let hello = |instance: &str, level| Hello {
        instance: instance.into(),
        version: "0".into(),
        level,
    };
    for level in [0, LEVEL + 1] {
        let refused = core.sessions.open(scout, hello("a", level)).await;
        assert!(
            matches!(refused, Err(SessionError::LevelNotServed { .. })),
            "{level}"
        );
    }
    for instance in ["", &"x".repeat(101)] {
        let refused = core.sessions.open(scout, hello(instance, LEVEL)).await;
        assert!(matches!(refused, Err(SessionError::BadInstance)));
    }
    let none = core.sessions.beat(scout, Epoch(u64::MAX), idle()).await;
    assert!(matches!(none, Err(SessionError::Stale { .. })));
    let none = core.try_recv(scout, Epoch(u64::MAX), Take::Begin).await;
    assert!(matches!(none, Err(InboxError::Stale { .. })));
}
