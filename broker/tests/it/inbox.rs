//! Sending: keys, limits, recipients, threads, broadcasts, wakes.

use futures::future::join_all;
use hive_proto::ids::MessageId;
use hive_proto::v1::{MessageState, Outcome, Role};
use hived::inbox::{Delivered, InboxError, Limits, Mailbox, Novelty, Outgoing, Sender};
use hived::store::Recipient;
use hived::store::agents::{self, Removal};
use hived::store::messages::Listing;
use hived::topology::Unresolved;

use crate::kit::{Core, bodies, keyed, outgoing};

const OPERATOR: Sender = Sender::Operator;

#[tokio::test(flavor = "multi_thread")]
async fn dl1_one_key_is_one_message() {
    let core = Core::new();
    core.agent("scout").await;
    let sends = (0..10).map(|_| core.send_with(OPERATOR, "scout", keyed("look", "k1")));
    let sent: Vec<_> = join_all(sends)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert!(sent.iter().all(|one| one.id == sent[0].id), "{sent:?}");
    let new = sent
        .iter()
        .filter(|one| one.novelty == Novelty::New)
        .count();
    assert_eq!(new, 1);

    let other = core
        .send_with(OPERATOR, "scout", keyed("look again", "k1"))
        .await;
    assert!(
        matches!(other, Err(InboxError::KeyConflict(id)) if id == sent[0].id),
        "{other:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dl2_a_retry_after_a_lost_reply_finds_the_first_message_also_after_a_restart_and_an_ack() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let first = core
        .send_with(OPERATOR, "scout", keyed("look", "k1"))
        .await
        .unwrap();
    let epoch = core.open(scout, "a").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let core = core.restart();
    let again = core
        .send_with(OPERATOR, "scout", keyed("look", "k1"))
        .await
        .unwrap();
    assert_eq!((again.id, again.novelty), (first.id, Novelty::Duplicate));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_of_its_sender_and_recipient() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.agent("coder").await;
    let mut ids = vec![
        core.send_with(OPERATOR, "scout", keyed("x", "k"))
            .await
            .unwrap()
            .id,
        core.send_with(OPERATOR, "coder", keyed("x", "k"))
            .await
            .unwrap()
            .id,
        core.send_with(Sender::Agent(scout), "coder", keyed("x", "k"))
            .await
            .unwrap()
            .id,
        core.send_with(Sender::Agent(scout), "operator", keyed("x", "k"))
            .await
            .unwrap()
            .id,
    ];
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let core = Core::with(Limits {
        mailbox_rows: 2,
        body_bytes: 10,
    });
    core.agent("scout").await;
    let long = core.try_send(OPERATOR, "scout", "12345678901").await;
    assert!(matches!(
        long,
        Err(InboxError::BodyTooLarge {
            bytes: 11,
            most: 10
        })
    ));
    let empty = core.try_send(OPERATOR, "scout", "").await;
    assert!(matches!(empty, Err(InboxError::EmptyBody)));
    let key = core
        .send_with(OPERATOR, "scout", keyed("x", &"k".repeat(201)))
        .await;
    assert!(matches!(key, Err(InboxError::KeyTooLong { .. })));
    core.send(OPERATOR, "scout", "1234567890").await;
    core.send_with(OPERATOR, "scout", keyed("2", "k"))
        .await
        .unwrap();
    let full = core.try_send(OPERATOR, "scout", "3").await;
    assert!(
        matches!(full, Err(InboxError::MailboxFull { rows: 2, .. })),
        "{full:?}"
    );
    // A retry of what was accepted is no new row.
    let again = core
        .send_with(OPERATOR, "scout", keyed("2", "k"))
        .await
        .unwrap();
    assert_eq!(again.novelty, Novelty::Duplicate);
}

#[tokio::test(flavor = "multi_thread")]
async fn leased_rows_count_for_the_mailbox_and_finished_ones_do_not() {
    let core = Core::with(Limits {
        mailbox_rows: 1,
        body_bytes: 10,
    });
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    core.send(OPERATOR, "scout", "1").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    assert!(core.try_send(OPERATOR, "scout", "2").await.is_err());
    core.end(scout, epoch, turn, Outcome::Ok).await;
    core.send(OPERATOR, "scout", "3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_resolve_at_delivery() {
    let core = Core::new();
    let chief = core.agent_under("chief", Role::Manager, None).await;
    let lead = core.agent_under("lead", Role::Agent, Some(chief)).await;
    let scout = core.agent_under("scout", Role::Agent, Some(lead)).await;
    let to = async |from: Sender, to: &str| core.try_send(from, to, "x").await.map(|s| s.to_name);
    let agent = Sender::Agent(scout);
    assert_eq!(to(agent, "<parent>").await.unwrap(), "lead");
    assert_eq!(to(agent, "manager").await.unwrap(), "chief");
    assert_eq!(to(agent, "operator").await.unwrap(), "operator");
    assert_eq!(
        to(Sender::Agent(chief), "<parent>").await.unwrap(),
        "operator"
    );
    assert_eq!(to(OPERATOR, "manager").await.unwrap(), "chief");
    assert!(matches!(
        to(Sender::Agent(chief), "manager").await,
        Err(InboxError::Recipient(Unresolved::NoManager(name))) if name == "chief"
    ));

    core.store
        .write(move |tx| agents::set_removed(tx, lead, Removal::Kept))
        .await
        .unwrap();
    assert_eq!(to(agent, "<parent>").await.unwrap(), "chief");
    assert!(matches!(
        to(agent, "lead").await,
        Err(InboxError::Recipient(Unresolved::UnknownAgent(name))) if name == "lead"
    ));
    for odd in ["../x", "SYSTEM", "system", "self", "", "a b"] {
        let refused = to(agent, odd).await;
        assert!(
            matches!(refused, Err(InboxError::Recipient(Unresolved::Name(_)))),
            "{odd:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_must_name_a_manager_when_there_are_several() {
    let core = Core::new();
    let none = core.try_send(OPERATOR, "manager", "x").await;
    assert!(matches!(
        none,
        Err(InboxError::Recipient(Unresolved::UnknownAgent(_)))
    ));
    core.agent_under("a", Role::Manager, None).await;
    core.agent_under("b", Role::Manager, None).await;
    let two = core.try_send(OPERATOR, "manager", "x").await;
    assert!(matches!(
        two,
        Err(InboxError::Recipient(Unresolved::ManyManagers(names))) if names == "a, b"
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_agent_neither_sends_nor_receives() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.store
        .write(move |tx| agents::set_removed(tx, scout, Removal::Purged))
        .await
        .unwrap();
    assert!(core.try_send(OPERATOR, "scout", "x").await.is_err());
    assert!(
        core.try_send(Sender::Agent(scout), "operator", "x")
            .await
            .is_err()
    );
    assert!(core.try_open(scout, "a").await.is_err());
    // The name is free, and its new holder is somebody else.
    assert_ne!(core.agent("scout").await, scout);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_threaded_by_itself() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let asked = core.send(OPERATOR, "scout", "what do you see?").await;
    let before = core.send(Sender::Agent(scout), "operator", "unasked").await;
    let turn = core.take(scout, epoch, 1).await.turn.unwrap();
    let answer = core.send(Sender::Agent(scout), "operator", "land").await;
    let explicit = Outgoing {
        body: "no reply".into(),
        in_reply_to: Some(0),
        key: None,
    };
    let aside = core
        .send_with(Sender::Agent(scout), "operator", explicit)
        .await
        .unwrap()
        .id;
    core.end(scout, epoch, turn, Outcome::Ok).await;
    let after = core.send(Sender::Agent(scout), "operator", "later").await;

    for (id, expected) in [
        (before, None),
        (answer, Some(asked)),
        (aside, None),
        (after, None),
    ] {
        assert_eq!(core.message(id).await.in_reply_to, expected, "{id}");
    }
    let life = core.inbox.life(asked).await.unwrap();
    assert_eq!(life.replies.len(), 1);
    assert_eq!(life.turns.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_answer_what_it_has_no_part_in() {
    let core = Core::new();
    let spy = core.agent("spy").await;
    core.agent("scout").await;
    let asked = core.send(OPERATOR, "scout", "?").await;
    let reply = |id: MessageId| Outgoing {
        body: "!".into(),
        in_reply_to: Some(id.0),
        key: None,
    };
    let forged = core
        .send_with(Sender::Agent(spy), "operator", reply(asked))
        .await;
    assert!(matches!(forged, Err(InboxError::NotYours(id)) if id == asked));
    let none = core
        .send_with(Sender::Agent(spy), "operator", reply(MessageId(99)))
        .await;
    assert!(matches!(none, Err(InboxError::NoSuchMessage(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_one_commit_of_independent_sends() {
    let core = Core::new();
    core.agent("scout").await;
    let to = |to: &str, body: &str| (to.to_owned(), outgoing(body));
    let sends = vec![
        to("scout", "1"),
        to("nobody", "2"),
        to("scout", ""),
        to("scout", "4"),
    ];
    let results = core.inbox.send_batch(OPERATOR, sends).await.unwrap();
    let accepted: Vec<_> = results.iter().map(Result::is_ok).collect();
    assert_eq!(accepted, [true, false, false, true]);
    let many = vec![to("scout", "x"); 257];
    assert!(matches!(
        core.inbox.send_batch(OPERATOR, many).await,
        Err(InboxError::BatchTooLarge { entries: 257, .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn dl13_a_broadcast_says_what_became_of_each() {
    let core = Core::with(Limits {
        mailbox_rows: 1,
        body_bytes: 10,
    });
    let a = core.agent("a").await;
    for name in ["b", "c", "d"] {
        core.agent(name).await;
    }
    core.send(OPERATOR, "c", "full").await;
    let Delivered::All(each) = core
        .inbox
        .send(Sender::Agent(a), "*", keyed("hi", "k"))
        .await
        .unwrap()
    else {
        panic!("not a broadcast");
    };
    let outcome: Vec<_> = each
        .iter()
        .map(|(to, result)| (to.as_str(), result.is_ok()))
        .collect();
    assert_eq!(outcome, [("b", true), ("c", false), ("d", true)]);
    assert!(matches!(each[1].1, Err(InboxError::MailboxFull { .. })));

    let lonely = Core::new();
    let only = lonely.agent("only").await;
    let nobody = lonely
        .inbox
        .send(Sender::Agent(only), "*", outgoing("hi"))
        .await;
    assert!(matches!(
        nobody,
        Err(InboxError::Recipient(Unresolved::Nobody))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_bears_its_label_and_no_false_name() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    core.agent("coder").await;
    let sent = core
        .inbox
        .wake(scout, "cron", keyed("tick", "1"))
        .await
        .unwrap();
    let again = core
        .inbox
        .wake(scout, "cron", keyed("tick", "1"))
        .await
        .unwrap();
    assert_eq!((again.id, again.novelty), (sent.id, Novelty::Duplicate));
    assert_eq!(core.message(sent.id).await.from, "cron");
    for label in [
        "operator",
        "system",
        "self",
        "reminder",
        "manager",
        "ttl-watchdog",
        "*",
        "A",
    ] {
        let refused = core.inbox.wake(scout, label, outgoing("x")).await;
        assert!(matches!(refused, Err(InboxError::Label(_))), "{label}");
    }
    for name in ["scout", "coder"] {
        let refused = core.inbox.wake(scout, name, outgoing("x")).await;
        assert!(
            matches!(refused, Err(InboxError::LabelIsAgent(_))),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_reads_and_lists() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let one = core.send(Sender::Agent(scout), "operator", "1").await;
    let two = core.send(Sender::Agent(scout), "operator", "2").await;
    let of_scout = core.send(OPERATOR, "scout", "3").await;
    assert_eq!(core.inbox.waiting().await.unwrap().len(), 2);
    let marked = core
        .inbox
        .mark_read(vec![one, of_scout, MessageId(99)])
        .await
        .unwrap();
    assert_eq!(marked, 1);
    assert_eq!(core.inbox.mark_read(vec![one]).await.unwrap(), 0);
    let row = core.message(one).await;
    assert_eq!(
        (row.state, row.result.as_str()),
        (MessageState::Acked, "read")
    );
    let mailbox = || Mailbox::Of(Recipient::Operator);
    let unread = core
        .inbox
        .list(mailbox(), Listing::Unfinished, 0)
        .await
        .unwrap();
    assert_eq!(unread.iter().map(|row| row.id).collect::<Vec<_>>(), [two]);
    let newest = core
        .inbox
        .list(mailbox(), Listing::Everything, 1)
        .await
        .unwrap();
    assert_eq!(newest.iter().map(|row| row.id).collect::<Vec<_>>(), [two]);
    assert!(core.inbox.life(MessageId(99)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn order_is_kept_for_concurrent_senders() {
    let core = Core::new();
    let scout = core.agent("scout").await;
    let epoch = core.open(scout, "a").await;
    let sender = async |who: u32| {
        for n in 0..20 {
            core.send(OPERATOR, "scout", &format!("{who} {n:02}")).await;
        }
    };
    join_all((0..4).map(sender)).await;
    let mut all = Vec::new();
    while all.len() < 80 {
        let received = core.take(scout, epoch, 32).await;
        all.extend(bodies(&received).into_iter().map(str::to_owned));
        core.end(scout, epoch, received.turn.unwrap(), Outcome::Ok)
            .await;
    }
    for who in 0..4 {
        let of: Vec<_> = all
            .iter()
            .filter(|body| body.starts_with(&format!("{who} ")))
            .collect();
        assert!(of.len() == 20 && of.is_sorted(), "{of:?}");
    }
}
