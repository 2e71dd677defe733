//! What becomes of mail when its recipient is removed, with or without a purge.

use hive_proto::ids::AgentId;
use hive_proto::v1::{FailureClass, MessageState, Outcome, Role};
use hived::inbox::{InboxError, Sender, WaitingKind};
use hived::removal;
use hived::store::Recipient;
use hived::store::agents::Removal;

use crate::kit::{Core, run, secs};

const DAY: u64 = 24 * 60 * 60;

async fn remove(core: &Core, agent: AgentId, how: Removal) {
    core.store
        .write(move |tx| removal::remove(tx, agent, how))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_to_a_purged_agent_ends_whatever_it_waits_for() {
    let core = Core::new();
    let boss = core.agent_under("boss", Role::Manager, None).await;
    let scout = core.agent_under("scout", Role::Agent, Some(boss)).await;
    let coder = core.agent("coder").await;
    let epoch = core.open(scout, "a").await;
    // One waits for its back-off, one is in a turn, one is queued behind, one is a note to itself.
    let later = core.send(Sender::Agent(coder), "scout", "later").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let class = FailureClass::Network;
    core.try_end(scout, epoch, turn, Outcome::Failed, class)
        .await
        .unwrap();
    core.time.advance(secs(3_600));
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let behind = core.send(Sender::Agent(coder), "scout", "behind").await;
    let asked = core.send(Sender::Operator, "scout", "asked").await;
    let note = core.send(Sender::Agent(scout), "scout", "note").await;
    remove(&core, scout, Removal::Purged).await;

    for id in [later, behind, asked, note] {
        let row = core.message(id).await;
        assert_eq!(row.state, MessageState::Dead, "{row:?}");
        assert_eq!(row.result, "recipient purged");
        assert_eq!(core.story(id).await.last().unwrap(), "message.dead");
    }
    assert!(core.turns.current(scout).await.unwrap().is_none());
    // Its harness may still be there for a moment: nothing that it says brings anything back.
    let late = core
        .try_end(
            scout,
            epoch,
            turn,
            Outcome::Interrupted,
            FailureClass::Unspecified,
        )
        .await;
    assert!(late.is_ok(), "{late:?}");
    assert_eq!(core.message(later).await.state, MessageState::Dead);

    let mail = core.mail(Recipient::Agent(coder)).await;
    assert_eq!(mail.len(), 1, "{mail:?}");
    let named = format!(
        "2 messages to scout will never be done, because scout was purged: {later}, {behind}"
    );
    assert_eq!(mail[0], ("system".to_owned(), named));
    let line = "scout was purged with 3 messages waiting, now dead: 2 from coder, 1 from operator";
    for told in [Recipient::Operator, Recipient::Agent(boss)] {
        let mail = core.mail(told).await;
        assert_eq!(mail, [("system".to_owned(), line.to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_agent_keeps_its_mail() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let taken = core.send(Sender::Operator, "scout", "taken").await;
    core.take(scout, epoch, 1).await;
    let queued = core.send(Sender::Operator, "scout", "queued").await;
    remove(&core, scout, Removal::Kept).await;
    assert_eq!(core.message(taken).await.state, MessageState::Leased);
    assert_eq!(core.message(queued).await.state, MessageState::Queued);
    assert!(core.mail(Recipient::Operator).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_without_mail_tells_nobody() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.inbox
        .system(Recipient::Agent(scout), "restarted".into())
        .await
        .unwrap();
    remove(&core, scout, Removal::Purged).await;
    assert!(core.mail(Recipient::Operator).await.is_empty());
    let rows = core.mail(Recipient::Agent(scout)).await;
    assert_eq!(rows.len(), 1, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_died_with_its_recipient_is_not_put_back_and_does_not_stay_for_ever() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let id = core.send(Sender::Operator, "scout", "asked").await;
    remove(&core, scout, Removal::Purged).await;
    let refused = core.inbox.requeue_dead(id).await;
    assert!(
        matches!(refused, Err(InboxError::RecipientPurged(..))),
        "{refused:?}"
    );
    assert_eq!(core.inbox.dead().await.unwrap().len(), 1);
    let waiting = core.inbox.waiting().await.unwrap();
    assert!(!waiting.iter().any(|one| one.kind == WaitingKind::Dead));
    core.time.advance(secs(31 * DAY));
    run(&core.retention).await;
    assert!(core.inbox.life(id).await.is_err());
}
