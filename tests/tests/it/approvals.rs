//! An agent asks, the operator decides, the schedule runs: over the sockets and by the command.

use hive_proto::v1::{
    CancelLooseEndRequest, CreateAgentRequest, CreateScheduleRequest, EditScheduleRequest,
    FireScheduleRequest, GetLooseEndsRequest, LooseEnd, Reason, Timing,
};
use hive_tests::TestHive;
use hive_tests::client::refusal;
use hive_tests::wait::{SOON, until};

pub(crate) fn request(body: &str, at_ms: i64, key: &str) -> CreateScheduleRequest {
    CreateScheduleRequest {
        targets: vec!["ant".to_owned()],
        body: body.to_owned(),
        timing: Some(Timing {
            first_at_ms: at_ms,
            ..Timing::default()
        }),
        description: "news".to_owned(),
        idempotency_key: key.to_owned(),
        ..CreateScheduleRequest::default()
    }
}

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// `lead`, a manager, with `ant` below it; nothing runs in them.
pub(crate) async fn crew(hive: &mut TestHive) {
    hive.create_manager("lead", "").await;
    let ant = CreateAgentRequest {
        name: "ant".to_owned(),
        parent: "lead".to_owned(),
        engine: "scripted".to_owned(),
        ..CreateAgentRequest::default()
    };
    hive.create_as(ant).await.unwrap();
}

#[tokio::test]
async fn what_is_asked_is_shown_approved_and_runs_once() {
    let mut hive = TestHive::builder().by_hand().start().await;
    crew(&mut hive).await;
    let hidden = "look\u{202e}\u{1b}[2J at it";
    let mut lead = hive.manager("lead");
    let asked = lead.request_schedule_prompt(request(hidden, now_ms(), "k"));
    let asked = asked.await.unwrap().into_inner();
    // It waits, and says so.
    let status = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let waits = status["waiting"].as_array().unwrap();
    assert!(
        waits
            .iter()
            .any(|one| one["kind"] == "approval" && one["agent"] == "lead"),
        "{status}"
    );
    // Shown: nothing of it steers a terminal, and the digest is of exactly these bytes.
    let shown = hive
        .hive(&["approval", "show", "1"])
        .await
        .expect_code(0)
        .stdout;
    assert!(
        !shown.contains('\u{202e}') && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let payload = hive
        .hive(&["approval", "show", "1", "--payload"])
        .await
        .expect_code(0)
        .stdout;
    let digest = hived::approvals::digest(payload.trim_end_matches('\n'));
    assert_eq!(digest, asked.digest);
    assert!(shown.contains(&digest));
    // Decided on another digest: refused; on this one: done.
    let wrong = hived::approvals::digest("other");
    let refused = hive
        .hive(&["approve", "1", "--digest", &wrong])
        .await
        .expect_code(4);
    assert!(refused.stderr.contains(&digest), "{}", refused.stderr);
    let approved = hive
        .hive(&["approve", "1", "--digest", &digest, "--note", "go"])
        .await;
    assert_eq!(
        approved.expect_code(0).stdout,
        "approval 1: done: schedule 1 was made\n"
    );
    let again = hive.hive(&["deny", "1"]).await.expect_code(4);
    assert!(
        again.stderr.contains("already approved by uid "),
        "{}",
        again.stderr
    );
    let fired = until("the schedule fires", SOON, || async {
        let mail = hive.mailbox("ant").await;
        mail.into_iter().find(|message| message.from == "lead")
    });
    assert_eq!(fired.await.body, hidden);
    let told = hive.mailbox("lead").await;
    let event: serde_json::Value = serde_json::from_str(&told[0].body).unwrap();
    assert_eq!(
        (told[0].from.as_str(), &event["event"]),
        ("system", &"approval_resolved".into())
    );
    assert_eq!(
        (&event["state"], &event["note"]),
        (&"done".into(), &"go".into())
    );
    let decided = hive
        .hive(&["approval", "show", "1", "--json"])
        .await
        .expect_code(0)
        .json();
    let uid = format!("uid {}", rustix::process::getuid().as_raw());
    assert_eq!(decided["decided_by"], uid.as_str());
}

#[tokio::test]
async fn an_agent_decides_nothing_and_is_nobody_else() {
    let mut hive = TestHive::builder().by_hand().start().await;
    crew(&mut hive).await;
    hive.create_manager("other", "").await;
    let mut lead = hive.manager("lead");
    lead.request_schedule_prompt(request("look", now_ms() + 3_600_000, ""))
        .await
        .unwrap();
    // On its own socket there is no deciding.
    let own = hive.hive_as("lead", &["approve", "1"]).await.expect_code(4);
    assert!(own.stderr.contains("operator"), "{}", own.stderr);
    let shown = hive
        .hive(&["approval", "show", "1", "--json"])
        .await
        .expect_code(0)
        .json();
    assert_eq!(shown["state"], "pending");
    // No field makes it the operator.
    for target in ["operator", "system", "*", "<parent>"] {
        let mut draft = request("look", now_ms() + 3_600_000, "");
        draft.targets = vec![target.to_owned()];
        let status = lead.request_schedule_prompt(draft).await.unwrap_err();
        let reason = refusal(&status).reason;
        assert!(
            matches!(reason, Reason::InvalidArgument | Reason::ReservedName),
            "{target}"
        );
    }
    // The operator's schedules are not an agent's, and one manager's are not another's.
    hive.hive(&[
        "schedule", "create", "--to", "ant", "--body", "x", "--every", "1h",
    ])
    .await
    .expect_code(0);
    hive.hive(&["approve", "1"]).await.expect_code(0);
    for (name, id) in [("lead", 1), ("other", 1), ("other", 2)] {
        let mut manager = hive.manager(name);
        let edit = EditScheduleRequest {
            id,
            body: Some("mine".to_owned()),
            ..EditScheduleRequest::default()
        };
        let status = manager.edit_schedule(edit).await.unwrap_err();
        assert_eq!(refusal(&status).reason, Reason::NotInSubtree, "{name} {id}");
        let fire = FireScheduleRequest {
            id,
            ..FireScheduleRequest::default()
        };
        let status = manager.fire_schedule_now(fire).await.unwrap_err();
        assert_eq!(refusal(&status).reason, Reason::NotInSubtree, "{name} {id}");
    }
    // No agent that is no manager asks at all.
    let ant = hive
        .manager("ant")
        .request_schedule_prompt(request("x", now_ms(), ""))
        .await;
    assert_eq!(refusal(&ant.unwrap_err()).reason, Reason::WrongRole);
    assert!(hive.mailbox("ant").await.is_empty());
}

async fn loose_ends(hive: &TestHive, name: &str, of: &str) -> Vec<LooseEnd> {
    let request = GetLooseEndsRequest {
        agent: of.to_owned(),
    };
    let found = hive.agent(name).get_loose_ends(request).await.unwrap();
    found.into_inner().loose_ends
}

async fn give_up(hive: &TestHive, name: &str, kind: &str, id: i64) -> Result<(), Reason> {
    let request = CancelLooseEndRequest {
        kind: kind.to_owned(),
        id,
    };
    let cancelled = hive.agent(name).cancel_loose_end(request).await;
    cancelled
        .map(|_| ())
        .map_err(|status| refusal(&status).reason)
}

#[tokio::test]
async fn what_waits_for_the_operator_and_what_fires_again_are_loose_ends() {
    let mut hive = TestHive::builder().by_hand().start().await;
    crew(&mut hive).await;
    let mut lead = hive.manager("lead");
    // Schedules are of whole seconds.
    let later = (now_ms() / 1_000 + 3_600) * 1_000;
    for key in ["kept", "taken back"] {
        let asked = lead.request_schedule_prompt(request(key, later, key));
        asked.await.unwrap();
    }
    hive.hive(&["approve", "1"]).await.expect_code(0);
    let mut ends = loose_ends(&hive, "lead", "*").await;
    ends.sort_by(|one, other| one.kind.cmp(&other.kind));
    let shown: Vec<_> = ends
        .iter()
        .map(|end| (end.kind.as_str(), end.id, end.agent.as_str(), end.due_ms))
        .collect();
    let expiry = ends[0].since_ms + 7 * 86_400_000;
    let expected = [
        ("approval", 2, "lead", expiry),
        ("schedule", 1, "lead", later),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        (ends[0].waits_for.as_str(), ends[0].text.as_str()),
        ("operator", "schedule_prompt: news")
    );
    assert_eq!(loose_ends(&hive, "ant", "").await, []);

    // To end a schedule takes the right to end schedules, by this call too.
    assert_eq!(
        give_up(&hive, "ant", "schedule", 1).await,
        Err(Reason::WrongRole)
    );
    assert_eq!(
        give_up(&hive, "ant", "approval", 2).await,
        Err(Reason::NotPermitted)
    );
    let rights = ["agent", "rights", "lead", "--tool-groups", "questions"];
    hive.hive(&rights).await.expect_code(0);
    assert_eq!(
        give_up(&hive, "lead", "schedule", 1).await,
        Err(Reason::NotPermitted)
    );
    let rights = ["agent", "rights", "lead", "--all-tools"];
    hive.hive(&rights).await.expect_code(0);

    give_up(&hive, "lead", "approval", 2).await.unwrap();
    give_up(&hive, "lead", "schedule", 1).await.unwrap();
    assert_eq!(loose_ends(&hive, "lead", "").await, []);
    let late = hive.hive(&["approve", "2"]).await.expect_code(4);
    assert!(late.stderr.contains("taken back by lead"), "{late:?}");
    assert_eq!(
        give_up(&hive, "lead", "approval", 1).await,
        Err(Reason::AlreadyDecided)
    );
}
