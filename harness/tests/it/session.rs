//! The broker goes away and comes back.

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use hive_proto::v1::{DirectiveKind, HarnessState, Outcome};

use crate::harness::Served;

#[tokio::test]
async fn a_turn_goes_on_while_the_broker_is_away() {
    let mut served = Served::start(
        r#"
        [[rule]]
        steps = [
          { shell = "while ! [ -e go ]; do :; done" },
          { tool = "send", args = { to = "operator", body = "done" } },
        ]"#,
    );
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.down().await;
    std::fs::write(served.state_dir().join("go"), "").unwrap();
    served.fake.up();
    let end = served.fake.end(1).await;
    assert_eq!((end.turn_id, end.outcome()), (1, Outcome::Ok));
    let record = served.fake.record();
    assert_eq!(record.sends.len(), 1);
    assert_eq!(record.opens.len(), 2);
    assert_eq!(record.opens[0].instance, record.opens[1].instance);
}

#[tokio::test]
async fn an_idle_harness_comes_back_by_itself() {
    let mut served = Served::start("");
    served.fake.state(HarnessState::Idle).await;
    for id in 1..=3 {
        served.fake.down().await;
        served.fake.up();
        served.fake.queue(id, "system", "a");
        assert_eq!(
            served.fake.end(usize::try_from(id).unwrap()).await.held,
            [id]
        );
    }
}

#[tokio::test]
async fn a_renewal_leaves_the_session_and_its_turn_alone() {
    let served = Served::start(
        r#"
        [[rule]]
        body = "wait"
        steps = [{ shell = "while ! [ -e go ]; do :; done" }]"#,
    );
    // Idle: the next message comes over the poll that waited all the while.
    served.fake.state(HarnessState::Idle).await;
    served.fake.direct(DirectiveKind::Renew, 0).await;
    served
        .fake
        .until("it opened again", |record| {
            (record.opens.len() == 2).then_some(())
        })
        .await;
    served.fake.queue(1, "system", "a");
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::Ok);
    // At work: the turn goes on.
    served.fake.queue(2, "system", "wait");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.direct(DirectiveKind::Renew, 0).await;
    served
        .fake
        .until("it opened again", |record| {
            (record.opens.len() == 3).then_some(())
        })
        .await;
    std::fs::write(served.state_dir().join("go"), "").unwrap();
    let end = served.fake.end(2).await;
    assert_eq!(
        (end.held.as_slice(), end.outcome()),
        ([2].as_slice(), Outcome::Ok)
    );
    let record = served.fake.record();
    assert_eq!(record.directives.len(), 1, "one stream all the while");
    let instances = record.opens.iter().map(|open| open.instance.as_str());
    let instances: std::collections::HashSet<_> = instances.collect();
    assert_eq!(instances.len(), 1);
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_taken_again() {
    let mut served = Served::start("");
    served.fake.state(HarnessState::Idle).await;
    served.fake.down().await;
    {
        // The broker leased it and died before the answer was out.
        let mut record = served.fake.record();
        record.turns = 5;
        record.open = Some((
            5,
            vec![hive_proto::v1::Message {
                id: 3,
                from: "system".to_owned(),
                ..Default::default()
            }],
        ));
    }
    served.fake.up();
    let end = served.fake.end(1).await;
    assert_eq!((end.turn_id, end.held), (5, vec![3]));
}

#[tokio::test]
async fn a_turn_that_the_broker_gave_up_is_stopped_and_not_settled() {
    let mut served = Served::start("[[rule]]\nfrom = \"operator\"\nsteps = [{ wait = \"10m\" }]");
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.down().await;
    served.fake.record().open = None;
    served.fake.queue(2, "system", "b");
    served.fake.up();
    let end = served.fake.end(1).await;
    assert_eq!((end.turn_id, end.held), (2, vec![2]));
}

#[tokio::test]
async fn a_full_disk_delays_the_end_of_a_turn_and_loses_nothing() {
    let served = Served::start("");
    served.fake.record().refuse_end = Some(Refusal::new(Reason::StorageFull, "full"));
    served.fake.queue(1, "system", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.record().refuse_end = None;
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::Ok);
}

#[tokio::test]
async fn a_second_harness_waits_for_the_first_to_go() {
    let served = Served::start("");
    served.fake.state(HarnessState::Idle).await;
    served.fake.record().refuse_open = Some(Refusal::new(Reason::SessionTaken, "taken"));
    let mut served = served;
    let opens = served.fake.record().opens.len();
    served.again();
    served
        .fake
        .until("it was refused", |record| {
            (record.opens.len() > opens + 1).then_some(())
        })
        .await;
    served.fake.record().refuse_open = None;
    served.fake.queue(1, "system", "a");
    served.fake.end(1).await;
}
