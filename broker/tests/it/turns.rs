//! Ending turns: once, by the right one, with what follows for the messages and who is told.

use futures::StreamExt;
use hive_proto::ids::{AgentId, MessageId, TurnId};
use hive_proto::v1::{FailureClass, MessageState, Outcome, Role};
use hived::inbox::Sender;
use hived::model::outcome::Loss;
use hived::sessions::Directive;
use hived::settle::Onward;
use hived::store::Recipient;
use hived::turns::{Ending, TurnError};

use crate::kit::{Core, bodies, ending, secs};

const OPERATOR: Sender = Sender::Operator;
const NONE: FailureClass = FailureClass::Unspecified;

/// One more death of the head of the queue: its harness dies.
async fn die(core: &Core, agent: AgentId) {
    let epoch = core.open(agent, "x").await;
    let received = core.take(agent, epoch, 1).await;
    assert_eq!(received.rows.len(), 1);
    core.turns.release(agent, Loss::WithHarness).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dl5_ending_twice_is_ending_once_and_another_agents_turn_is_out_of_reach() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let spy = core.agent("spy").await;
    let (epoch, spys) = (core.open(scout, "a").await, core.open(spy, "s").await);
    let id = core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let stolen = core.try_end(spy, spys, turn, Outcome::Ok, NONE).await;
    assert!(matches!(stolen, Err(TurnError::NotYours(of)) if of == turn));
    let unknown = core
        .try_end(scout, epoch, TurnId(99), Outcome::Ok, NONE)
        .await;
    assert!(matches!(unknown, Err(TurnError::NoSuchTurn(_))));
    for own in [Outcome::Lost, Outcome::Unspecified] {
        let refused = core.try_end(scout, epoch, turn, own, NONE).await;
        assert!(matches!(refused, Err(TurnError::Outcome(_))));
    }
    core.end(scout, epoch, turn, Outcome::Ok).await;
    // The reply was lost; the outcome of the retry does not matter any more.
    for outcome in [Outcome::Ok, Outcome::Failed] {
        let again = core
            .try_end(scout, epoch, turn, outcome, NONE)
            .await
            .unwrap();
        assert_eq!(again, Ending::AlreadyEnded);
    }
    assert_eq!(core.message(id).await.result, "ok");
    let story = [
        "message.queued",
        "turn.started",
        "message.leased",
        "turn.ended",
        "message.acked",
    ];
    assert_eq!(core.story(id).await, story);
}

#[tokio::test(flavor = "multi_thread")]
async fn dl10_the_sixth_death_is_the_last_and_everyone_is_told_once() {
    let core = Core::new();
    let chief = core.agent_under("chief", Role::Manager, None).await;
    let scout = core.agent_under("scout", Role::Agent, Some(chief)).await;
    let coder = core.agent_under("coder", Role::Agent, Some(chief)).await;
    let poison = core.send(Sender::Agent(coder), "scout", "poison").await;
    let fine = core.send(OPERATOR, "scout", "fine").await;
    for _ in 0..5 {
        die(&core, scout).await;
        assert_eq!(core.message(poison).await.state, MessageState::Queued);
    }
    die(&core, scout).await;
    let dead = core.message(poison).await;
    assert_eq!((dead.state, dead.attempt), (MessageState::Dead, 6));
    for told in [
        Recipient::Operator,
        Recipient::Agent(chief),
        Recipient::Agent(coder),
    ] {
        let mail = core.mail(told).await;
        assert_eq!(mail.len(), 1, "{told:?}: {mail:?}");
        assert_eq!(mail[0].0, "system");
        assert!(mail[0].1.contains(&format!("message {poison}")), "{mail:?}");
        assert!(!mail[0].1.contains("poison"), "{mail:?}");
    }
    // What was behind it goes on.
    let epoch = core.open(scout, "y").await;
    let received = core.take(scout, epoch, 1).await;
    assert_eq!(received.rows[0].id, fine);
    core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
        .await;

    // The operator puts it back: at its place, its deaths forgotten.
    let behind = core.send(OPERATOR, "scout", "behind").await;
    assert_eq!(core.inbox.dead().await.unwrap().len(), 1);
    let life = core.inbox.requeue_dead(poison).await.unwrap();
    assert_eq!(
        (life.message.state, life.message.attempt),
        (MessageState::Queued, 0)
    );
    assert!(core.inbox.requeue_dead(poison).await.is_err());
    assert!(core.inbox.requeue_dead(MessageId(99)).await.is_err());
    let received = core.take(scout, epoch, 2).await;
    let ids: Vec<_> = received.rows.iter().map(|row| row.id).collect();
    assert_eq!(ids, [poison, behind]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_is_told_once_when_sender_and_parent_are_one() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.send(OPERATOR, "scout", "poison").await;
    for _ in 0..6 {
        die(&core, scout).await;
    }
    assert_eq!(core.mail(Recipient::Operator).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn parks_and_interrupts_count_for_nothing() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let id = core.send(OPERATOR, "scout", "1").await;
    let parks = [
        Outcome::RateLimited,
        Outcome::AuthFailed,
        Outcome::BudgetExhausted,
        Outcome::Interrupted,
    ];
    for outcome in parks.into_iter().cycle().take(12) {
        let turn = core.take(scout, epoch, 1).await.turn.unwrap();
        core.end(scout, epoch, turn, outcome).await;
        let row = core.message(id).await;
        assert_eq!((row.state, row.attempt), (MessageState::Queued, 0));
        assert_eq!(row.not_before, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_failures_wait_longer_each_time_and_die_in_the_end() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let id = core.send(OPERATOR, "scout", "1").await;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let turn = core.take(scout, epoch, 1).await.turn.unwrap();
        let class = FailureClass::Overloaded;
        core.try_end(scout, epoch, turn, Outcome::Failed, class)
            .await
            .unwrap();
        let row = core.message(id).await;
        if let Some(at) = row.not_before {
            waits.push((at.0 - core.time.clock().now().0) / 1_000);
        }
        core.time.advance(secs(300));
    }
    assert_eq!(waits, [5, 10, 20, 40, 80]);
    let row = core.message(id).await;
    assert_eq!(
        (row.state, row.result.as_str()),
        (MessageState::Dead, "overloaded")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_failure_tells_sender_and_parent_and_a_cancel_the_sender() {
    let core = Core::new();
    let chief = core.agent_under("chief", Role::Manager, None).await;
    let scout = core.agent_under("scout", Role::Agent, Some(chief)).await;
    let coder = core.agent_under("coder", Role::Agent, Some(chief)).await;
    let epoch = core.open(scout, "a").await;
    core.send(Sender::Agent(coder), "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let mut end = ending(epoch, turn, Outcome::Failed, FailureClass::Refused);
    end.detail = "the model refused".into();
    core.turns.end(scout, end).await.unwrap();
    for told in [chief, coder] {
        let mail = core.mail(Recipient::Agent(told)).await;
        assert_eq!(mail.len(), 1);
        assert!(
            mail[0].1.ends_with("failed: refused: the model refused"),
            "{mail:?}"
        );
    }
    assert!(core.mail(Recipient::Operator).await.is_empty());

    core.send(Sender::Agent(coder), "scout", "2").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Cancelled).await;
    assert_eq!(core.mail(Recipient::Agent(coder)).await.len(), 2);
    assert_eq!(core.mail(Recipient::Agent(chief)).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_failing_message_does_not_feed_itself() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(Sender::Agent(scout), "scout", "note to self")
        .await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let class = FailureClass::Config;
    core.try_end(scout, epoch, turn, Outcome::Failed, class)
        .await
        .unwrap();
    assert!(core.take(scout, epoch, 1).await.rows.is_empty());
    assert_eq!(core.mail(Recipient::Operator).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn going_on_is_for_an_empty_inbox_after_a_good_turn() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let end = async |outcome| {
        let turn = core.take(scout, epoch, 1).await.turn.unwrap();
        let mut end = ending(epoch, turn, outcome, NONE);
        end.onward = Onward::Continue;
        core.turns.end(scout, end).await.unwrap();
    };
    core.send(OPERATOR, "scout", "1").await;
    core.send(OPERATOR, "scout", "2").await;
    end(Outcome::Ok).await;
    end(Outcome::Ok).await;
    let received = core.take(scout, epoch, 32).await;
    assert_eq!(bodies(&received), ["continue"]);
    assert_eq!(received.rows[0].from, "self");
    end(Outcome::Cancelled).await;
    assert!(core.take(scout, epoch, 32).await.rows.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_the_harness_that_runs_the_turn() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    assert!(matches!(
        core.turns.cancel(scout).await,
        Err(TurnError::NothingRuns)
    ));
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    assert!(matches!(
        core.turns.cancel(scout).await,
        Err(TurnError::NotConnected)
    ));
    let mut stream = core.sessions.attend(scout, epoch).await.unwrap();
    assert_eq!(stream.next().await, Some(Directive::Attached));
    assert_eq!(core.turns.cancel(scout).await.unwrap(), turn);
    assert_eq!(stream.next().await, Some(Directive::CancelTurn(turn)));
}
