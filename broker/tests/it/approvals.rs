//! Requests: decided once, on the bytes that were shown, and carried out once.

use hive_proto::ids::{AgentId, ApprovalId};
use hive_proto::v1::Role;
use hived::approvals::{ApprovalError, By, Decision, digest};
use hived::model::approval::State;
use hived::schedules::{Actor, Draft, Listing, When};
use hived::store::Recipient;
use hived::store::agents::{self, Removal};
use serde_json::Value;

use crate::kit::{Core, START, run, secs};

fn draft(targets: &[&str], body: &str) -> Draft {
    Draft {
        targets: targets.iter().map(|name| (*name).to_owned()).collect(),
        body: body.to_owned(),
        when: When {
            interval_secs: Some(3_600),
            ..When::default()
        },
        ..Draft::default()
    }
}

fn by(digest: &str) -> By {
    By {
        who: "uid 1000".into(),
        digest: digest.into(),
        note: "fine".into(),
    }
}

/// A manager with an agent below it.
async fn two(core: &Core) -> (AgentId, AgentId) {
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let ant = core.agent_under("ant", Role::Agent, Some(lead)).await;
    (lead, ant)
}

async fn asked(core: &Core, who: AgentId, body: &str) -> ApprovalId {
    let asked = core.schedules.request(who, draft(&["ant"], body)).await;
    asked.unwrap().id
}

/// The helper events of a mailbox.
async fn events(core: &Core, of: AgentId) -> Vec<Value> {
    let mail = core.mail(Recipient::Agent(of)).await;
    mail.iter()
        .filter(|(from, _)| from == "system")
        .map(|(_, body)| serde_json::from_str(body).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_runs_exactly_what_was_shown_and_both_learn_of_it() {
    let core = Core::new();
    let top = core.agent_under("top", Role::Manager, None).await;
    let lead = core.agent_under("lead", Role::Manager, Some(top)).await;
    core.agent_under("ant", Role::Agent, Some(lead)).await;
    let id = asked(&core, lead, "look").await;
    assert!(
        core.schedules
            .list(Actor::Operator, Listing::All)
            .await
            .unwrap()
            .is_empty()
    );
    let row = core.approvals.get(id).await.unwrap();
    assert_eq!(row.state, State::Pending);
    assert_eq!(row.digest, digest(&row.payload));
    let decided = core
        .approvals
        .decide(id, Decision::Approve, by(&row.digest))
        .await
        .unwrap();
    assert_eq!(
        (decided.state, decided.decided_by.as_str()),
        (State::Approved, "uid 1000")
    );
    assert_eq!(run(&core.intents).await.get("carried out"), 1);
    assert_eq!(run(&core.intents).await.get("carried out"), 0);
    let row = core.approvals.get(id).await.unwrap();
    assert_eq!(
        (row.state, row.result.as_str()),
        (State::Done, "schedule 1 was made")
    );
    let views = core
        .schedules
        .list(Actor::Operator, Listing::All)
        .await
        .unwrap();
    assert_eq!(views.len(), 1);
    assert_eq!(views[0].row.approval, Some(id));
    for who in [lead, top] {
        let told = events(&core, who).await;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["event"], "approval_resolved");
        assert_eq!(told[0]["state"], "done");
        assert_eq!(told[0]["decided_by"], "uid 1000");
        assert_eq!(told[0]["note"], "fine");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_decision_learns_who_was_first() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    core.approvals
        .decide(id, Decision::Deny, by(""))
        .await
        .unwrap();
    let second = core
        .approvals
        .decide(id, Decision::Approve, by(""))
        .await
        .unwrap_err();
    assert_eq!(
        second.to_string(),
        "approval 1 was already denied by uid 1000 at 2026-12-01T00:00:00.000Z"
    );
    run(&core.intents).await;
    assert!(
        core.schedules
            .list(Actor::Operator, Listing::All)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(events(&core, lead).await[0]["state"], "denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_decisions_at_once_one_counts() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    let decide = |n: usize| {
        let approvals = core.approvals.clone();
        let decision = [Decision::Approve, Decision::Deny][n % 2];
        async move { approvals.decide(id, decision, by("")).await }
    };
    let all = futures::future::join_all((0..16).map(decide)).await;
    let (ok, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
    assert_eq!(ok.len(), 1);
    assert!(
        refused
            .iter()
            .all(|error| matches!(error, Err(ApprovalError::AlreadyDecided { .. })))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_digest_decides_nothing() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    let shown = core.approvals.get(id).await.unwrap().digest;
    for wrong in [&shown[..8], &digest("other")[..], "x"] {
        let refused = core
            .approvals
            .decide(id, Decision::Approve, by(wrong))
            .await;
        assert!(
            matches!(refused, Err(ApprovalError::DigestMismatch { .. })),
            "{wrong}"
        );
    }
    assert_eq!(core.approvals.get(id).await.unwrap().state, State::Pending);
    core.approvals
        .decide(id, Decision::Approve, by(&shown))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_decides_expires_after_seven_days() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    core.time.advance(secs(7 * 86_400 - 1));
    assert_eq!(run(&core.expiry).await.get("expired"), 0);
    core.time.advance(secs(1));
    assert_eq!(run(&core.expiry).await.get("expired"), 1);
    assert_eq!(run(&core.expiry).await.get("expired"), 0);
    let late = core.approvals.decide(id, Decision::Approve, by("")).await;
    assert!(matches!(late, Err(ApprovalError::Expired(_))));
    assert_eq!(events(&core, lead).await[0]["state"], "expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_one_is_not_approved_before_its_reconciler_has_run() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    core.time.advance(secs(8 * 86_400));
    let late = core.approvals.decide(id, Decision::Approve, by("")).await;
    assert!(matches!(late, Err(ApprovalError::Expired(_))));
    assert_eq!(core.approvals.get(id).await.unwrap().state, State::Expired);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_requester_takes_it_back_and_no_agent_below() {
    let core = Core::new();
    let (lead, ant) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    let other = core.approvals.take_back(ant, id).await;
    assert!(matches!(other, Err(ApprovalError::NotYours { .. })));
    let row = core.approvals.take_back(lead, id).await.unwrap();
    assert_eq!(
        (row.state, row.result.as_str()),
        (State::Cancelled, "taken back by lead")
    );
    // Once more is the same: a call is made again when its reply was lost.
    let again = core.approvals.take_back(lead, id).await.unwrap();
    assert_eq!(again.finished_at, row.finished_at);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purged_requester_leaves_nothing_and_its_name_inherits_nothing() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let (first, second) = (asked(&core, lead, "a").await, asked(&core, lead, "b").await);
    core.store
        .write(move |tx| agents::set_removed(tx, lead, Removal::Purged))
        .await
        .unwrap();
    core.agent_under("lead", Role::Manager, None).await;
    // Before the reconciler comes round, too.
    let late = core
        .approvals
        .decide(first, Decision::Approve, by(""))
        .await;
    assert!(matches!(late, Err(ApprovalError::Cancelled { .. })));
    assert_eq!(run(&core.expiry).await.get("cancelled"), 1);
    assert_eq!(
        core.approvals.get(second).await.unwrap().state,
        State::Cancelled
    );
    run(&core.intents).await;
    assert!(
        core.schedules
            .list(Actor::Operator, Listing::All)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_request_is_one_request() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let keyed = |body: &str| Draft {
        key: Some("m1:t1".into()),
        ..draft(&["ant"], body)
    };
    let first = core.schedules.request(lead, keyed("look")).await.unwrap();
    core.time.advance(secs(5));
    let again = core.schedules.request(lead, keyed("look")).await.unwrap();
    assert_eq!((again.id, again.replayed), (first.id, true));
    assert_eq!(again.digest, first.digest);
    assert!(core.schedules.request(lead, keyed("other")).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_one_that_cannot_be_had_any_more_says_why() {
    let core = Core::new();
    let (lead, ant) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    core.store
        .write(move |tx| agents::set_removed(tx, ant, Removal::Kept))
        .await
        .unwrap();
    core.approvals
        .decide(id, Decision::Approve, by(""))
        .await
        .unwrap();
    assert_eq!(run(&core.intents).await.get("failed"), 1);
    assert_eq!(core.approvals.get(id).await.unwrap().result, "ant is gone");
    assert_eq!(events(&core, lead).await[0]["state"], "failed");
    let mail = core.mail(Recipient::Operator).await;
    assert_eq!(
        mail[0].1,
        "approval 1 (schedule_prompt of lead) was approved and could not be carried out: ant is gone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approval_outlives_the_broker() {
    let core = Core::new();
    let (lead, _) = two(&core).await;
    let id = asked(&core, lead, "look").await;
    core.approvals
        .decide(id, Decision::Approve, by(""))
        .await
        .unwrap();
    let core = core.restart();
    assert_eq!(run(&core.intents).await.get("carried out"), 1);
    let views = core
        .schedules
        .list(Actor::Operator, Listing::All)
        .await
        .unwrap();
    assert_eq!(views[0].row.next, Some(START.plus_ms(3_600_000)));
}
