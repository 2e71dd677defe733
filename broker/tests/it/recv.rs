//! Receiving: waiting, waking, limits, and clients that go away at any point.

use std::time::{Duration, Instant};

use hive_proto::ids::{AgentId, Epoch};
use hive_proto::v1::{FailureClass, MessageState, Outcome};
use hived::inbox::{InboxError, Received, RecvArgs, Sender, Take};
use hived::model::message::Delivery;
use hived::settle::Seen;
use hived::store::agents::{self, Desired, Pause};

use crate::kit::{Core, bodies, ending, ids, outgoing, secs};

const OPERATOR: Sender = Sender::Operator;

fn waiting(epoch: Epoch, wait: Duration) -> RecvArgs {
    RecvArgs {
        epoch,
        max: 1,
        wait,
        take: Take::Begin,
    }
}

async fn fail(core: &Core, agent: AgentId, epoch: Epoch, received: &Received) {
    let (turn, class) = (received.turn.unwrap(), FailureClass::Network);
    core.try_end(agent, epoch, turn, Outcome::Failed, class)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_wakes_a_waiting_poll() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let begun = Instant::now();
    let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
    let (received, _) = tokio::join!(poll, core.send(OPERATOR, "scout", "go"));
    assert_eq!(bodies(&received.unwrap()), ["go"]);
    assert!(begun.elapsed() < secs(30));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_between_the_look_and_the_wait() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    for n in 0..200 {
        let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
        let body = n.to_string();
        let (received, _) = tokio::join!(poll, core.send(OPERATOR, "scout", &body));
        let received = received.unwrap();
        assert_eq!(bodies(&received), [body]);
        core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dl12_ten_thousand_abandoned_polls_leave_nothing() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let mut polls: Vec<_> = (0..10_000)
        .map(|_| Box::pin(core.inbox.recv(scout, waiting(epoch, secs(60)))))
        .collect();
    for poll in &mut polls {
        assert!(futures::poll!(poll).is_pending());
    }
    assert_eq!(core.store.wakers().len(), 1);
    drop(polls);
    assert!(core.store.wakers().is_empty());
    // Their looks may still be queued at the writer: they take nothing.
    core.send(OPERATOR, "scout", "go").await;
    let received = core.take(scout, epoch, 1).await;
    assert_eq!(bodies(&received), ["go"]);
    assert_eq!(received.rows[0].delivery, Delivery::First);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_given_again_to_the_same_session() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let id = core.send(OPERATOR, "scout", "go").await;
    core.send(OPERATOR, "scout", "next").await;
    let first = core.take(scout, epoch, 1).await;
    // The reply did not arrive; the harness knows of no turn and asks as before.
    let again = core.take(scout, epoch, 1).await;
    assert_eq!((ids(&again), again.turn), (vec![id], first.turn));
    assert_eq!(again.rows[0].delivery, Delivery::Again);
    assert_eq!((again.rows[0].attempt, again.remaining), (0, 1));
    core.end(scout, epoch, again.turn.unwrap(), Outcome::Ok)
        .await;
    assert_eq!(bodies(&core.take(scout, epoch, 1).await), ["next"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_drops_its_poll_at_any_moment_consumes_nothing() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    for n in 0..100 {
        let body = n.to_string();
        core.send(OPERATOR, "scout", &body).await;
        let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
        // Some are dropped before the commit, some after, some are answered.
        let cut = tokio::time::timeout(Duration::from_micros(n * 20), poll).await;
        let received = match cut {
            Ok(received) => received.unwrap(),
            Err(_) => core.take(scout, epoch, 1).await,
        };
        assert_eq!(bodies(&received), [body]);
        core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
            .await;
    }
}

/// Returns once everything that was asked of the writer before has had its turn.
async fn caught_up(core: &Core) {
    core.store.write(|_| Ok(())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_for_a_poll_that_was_abandoned_is_as_if_nobody_had_asked() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let mut poll = Box::pin(core.inbox.recv(scout, waiting(epoch, secs(60))));
    assert!(futures::poll!(&mut poll).is_pending());
    caught_up(&core).await;
    drop(poll);
    let id = core.send(OPERATOR, "scout", "go").await;
    caught_up(&core).await;
    let row = core.message(id).await;
    assert_eq!((row.state, row.turn), (MessageState::Queued, None));
    assert_eq!(core.story(id).await, ["message.queued"]);
    let received = core.take(scout, epoch, 1).await;
    let row = &received.rows[0];
    assert_eq!((row.delivery, row.attempt), (Delivery::First, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_as_a_message_comes_loses_nothing_and_hands_nothing_out_twice() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    for n in 0..200 {
        let body = n.to_string();
        let poll = core
            .inbox
            .recv(scout, waiting(epoch, Duration::from_micros(n * 25)));
        let (received, id) = tokio::join!(poll, core.send(OPERATOR, "scout", &body));
        let mut received = received.unwrap();
        if received.rows.is_empty() {
            assert_eq!(core.message(id).await.state, MessageState::Queued);
            received = core.take(scout, epoch, 1).await;
        }
        let row = &received.rows[0];
        assert_eq!((row.delivery, row.attempt), (Delivery::First, 0));
        assert_eq!(bodies(&received), [body]);
        core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_waits_is_given_a_batch_from_its_oldest_on() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let mut args = waiting(epoch, secs(60));
    args.max = 2;
    let mut poll = Box::pin(core.inbox.recv(scout, args));
    assert!(futures::poll!(&mut poll).is_pending());
    caught_up(&core).await;
    let batch = ["1", "2", "3"].map(|body| ("scout".to_owned(), outgoing(body)));
    core.inbox.send_batch(OPERATOR, batch.into()).await.unwrap();
    let received = poll.await.unwrap();
    assert_eq!(bodies(&received), ["1", "2"]);
    assert_eq!(received.remaining, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_waits_begins_nothing_while_its_agent_is_paused() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let pause = async |pause| {
        core.store
            .write(move |tx| agents::set_paused(tx, scout, pause))
            .await
            .unwrap();
    };
    let mut poll = Box::pin(core.inbox.recv(scout, waiting(epoch, secs(60))));
    assert!(futures::poll!(&mut poll).is_pending());
    pause(Pause::Paused).await;
    let id = core.send(OPERATOR, "scout", "go").await;
    caught_up(&core).await;
    assert!(futures::poll!(&mut poll).is_pending());
    assert_eq!(core.message(id).await.state, MessageState::Queued);
    pause(Pause::Resumed).await;
    assert_eq!(bodies(&poll.await.unwrap()), ["go"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_of_an_older_session_takes_nothing_from_the_newer_one() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let old = core.open(scout, "a").await;
    let mut poll = Box::pin(core.inbox.recv(scout, waiting(old, secs(60))));
    assert!(futures::poll!(&mut poll).is_pending());
    caught_up(&core).await;
    // Its harness is silent for so long that another one may have its place.
    core.time.advance(secs(3_600));
    let new = core.open(scout, "b").await;
    core.send(OPERATOR, "scout", "go").await;
    let fenced = poll.await;
    assert!(matches!(fenced, Err(InboxError::Stale { given }) if given == old));
    let received = core.take(scout, new, 1).await;
    assert_eq!(received.rows[0].delivery, Delivery::First);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_lost_join_are_given_again_or_go_back_unacked() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    for body in ["1", "2", "3"] {
        core.send(OPERATOR, "scout", body).await;
    }
    let first = core.take(scout, epoch, 1).await;
    let turn = first.turn.unwrap();
    let join = |held: &[_]| Take::Join {
        turn,
        held: held.to_vec(),
    };
    let mut args = waiting(epoch, Duration::ZERO);
    args.take = join(&ids(&first));
    // This reply is lost …
    let lost = core.inbox.recv(scout, args.clone()).await.unwrap();
    assert_eq!(bodies(&lost), ["2"]);
    // … so the next join still names only the first.
    let again = core.inbox.recv(scout, args.clone()).await.unwrap();
    assert_eq!(ids(&again), ids(&lost));
    // The third is taken and lost, too, and the turn ends without it.
    args.take = join(&[ids(&first), ids(&lost)].concat());
    let third = core.inbox.recv(scout, args).await.unwrap();
    let mut end = ending(epoch, turn, Outcome::Ok, FailureClass::Unspecified);
    end.seen = Seen::Only([ids(&first), ids(&lost)].concat());
    core.turns.end(scout, end).await.unwrap();
    let back = core.take(scout, epoch, 32).await;
    assert_eq!(ids(&back), ids(&third));
    assert_eq!(
        (back.rows[0].delivery, back.rows[0].attempt),
        (Delivery::Again, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_names_the_open_turn() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    core.send(OPERATOR, "scout", "2").await;
    let take = Take::Join {
        turn,
        held: Vec::new(),
    };
    let refused = core.try_recv(scout, epoch, take).await;
    assert!(matches!(refused, Err(InboxError::NotOpen(closed)) if closed == turn));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_reply_is_limited_in_rows_and_bytes() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    for n in 0..40 {
        core.send(OPERATOR, "scout", &n.to_string()).await;
    }
    let received = core.take(scout, epoch, 1_000).await;
    assert_eq!((received.rows.len(), received.remaining), (32, 8));
    core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
        .await;
    let none_asked = core.take(scout, epoch, 0).await;
    assert_eq!(none_asked.rows.len(), 1);
    core.end(scout, epoch, none_asked.turn.unwrap(), Outcome::Ok)
        .await;
    let rest = core.take(scout, epoch, 32).await;
    core.end(scout, epoch, rest.turn.unwrap(), Outcome::Ok)
        .await;

    let large = "x".repeat(1024 * 1024);
    for _ in 0..4 {
        core.send(OPERATOR, "scout", &large).await;
    }
    let received = core.take(scout, epoch, 32).await;
    assert_eq!((received.rows.len(), received.remaining), (3, 1));
    // Handed out again within the same limits.
    assert_eq!(core.take(scout, epoch, 32).await.rows.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn back_off_holds_the_queue_and_the_wait_ends_in_time() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    core.send(OPERATOR, "scout", "2").await;
    fail(&core, scout, epoch, &core.take(scout, epoch, 1).await).await;
    assert_eq!(core.take(scout, epoch, 2).await, Received::default());
    core.time.advance(Duration::from_millis(4_999));
    assert_eq!(core.take(scout, epoch, 2).await, Received::default());
    // A poll waits for the back-off, not for the next send; the clock moves while it waits.
    let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
    let moved = async { core.time.advance(Duration::from_millis(1)) };
    let (received, ()) = tokio::join!(poll, moved);
    assert_eq!(bodies(&received.unwrap()), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_or_stopped_agent_begins_nothing_and_a_resumed_one_is_woken() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let pause = async |pause| {
        core.store
            .write(move |tx| agents::set_paused(tx, scout, pause))
            .await
            .unwrap();
    };
    pause(Pause::Paused).await;
    core.send(OPERATOR, "scout", "go").await;
    assert_eq!(core.take(scout, epoch, 1).await, Received::default());
    let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
    let (received, ()) = tokio::join!(poll, pause(Pause::Resumed));
    assert_eq!(bodies(&received.unwrap()), ["go"]);

    // A running turn may go on draining while its agent is paused.
    pause(Pause::Paused).await;
    core.send(OPERATOR, "scout", "more").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let take = Take::Join {
        turn,
        held: Vec::new(),
    };
    let joined = core.try_recv(scout, epoch, take).await.unwrap();
    assert_eq!(bodies(&joined), ["more"]);
    core.end(scout, epoch, turn, Outcome::Ok).await;
    pause(Pause::Resumed).await;

    core.store
        .write(move |tx| agents::set_desired(tx, scout, Desired::Stopped))
        .await
        .unwrap();
    core.send(OPERATOR, "scout", "no").await;
    assert_eq!(core.take(scout, epoch, 1).await, Received::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_end_with_the_daemon() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let id = core.send(OPERATOR, "scout", "1").await;
    core.take(scout, epoch, 1).await;
    let coder = core.agent("coder").await;
    let coders = core.open(coder, "c").await;
    let poll = core.inbox.recv(coder, waiting(coders, secs(60)));
    let wait = core.inbox.wait(id, secs(60));
    let stop = async { core.tasks.stop() };
    let (poll, wait, ()) = tokio::join!(poll, wait, stop);
    assert!(matches!(poll, Err(InboxError::Stopping)));
    assert!(matches!(wait, Err(InboxError::Stopping)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_of_a_fenced_session_ends_at_once() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let poll = core.inbox.recv(scout, waiting(epoch, secs(60)));
    let release = core
        .turns
        .release(scout, hived::model::outcome::Loss::Stopped);
    let (poll, released) = tokio::join!(poll, release);
    released.unwrap();
    assert!(matches!(poll, Err(InboxError::Stale { given }) if given == epoch));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_message_ends_with_its_answer_or_its_end() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let asked = core.send(OPERATOR, "scout", "?").await;
    let none = core.inbox.wait(asked, Duration::ZERO).await.unwrap();
    assert!(none.replies.is_empty());
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let answer = core.send(Sender::Agent(scout), "operator", "!");
    let (life, _) = tokio::join!(core.inbox.wait(asked, secs(60)), answer);
    assert_eq!(life.unwrap().replies[0].body, "!");
    core.end(scout, epoch, turn, Outcome::Ok).await;

    let silent = core.send(OPERATOR, "scout", "?").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let end = core.end(scout, epoch, turn, Outcome::Ok);
    let (life, ()) = tokio::join!(core.inbox.wait(silent, secs(60)), end);
    let life = life.unwrap();
    assert_eq!(
        (life.message.result.as_str(), life.replies.len()),
        ("ok", 0)
    );
    assert_eq!(life.turns[0].outcome, "ok");
}
