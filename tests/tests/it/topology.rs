//! The tree of agents and what each may do, as the operator changes them while agents run.

use hive_proto::v1::{
    AskRequest, CreateAgentRequest, DirectiveKind, Event, Reason, Role, SendBatchRequest,
    SendRequest, WakeRequest, send_result,
};
use hive_tests::TestHive;
use hive_tests::client::refusal;
use hive_tests::session::Session;
use hive_tests::wait::SOON;
use serde_json::json;

async fn create(hive: &mut TestHive, name: &str, role: Role, parent: &str) {
    let request = CreateAgentRequest {
        name: name.to_owned(),
        role: role.into(),
        parent: parent.to_owned(),
        engine: "scripted".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await.unwrap();
}

async fn parent(hive: &TestHive, name: &str) -> String {
    let shown = hive.hive(&["agent", "show", name, "--json"]).await;
    let parent = &shown.expect_code(0).json()["parent"];
    parent.as_str().unwrap().to_owned()
}

/// Waits until the harness is told to open its session again, and does so.
async fn renewed(mut session: Session) -> Session {
    let directives = session.directives.as_mut().unwrap();
    let told = async {
        loop {
            let directive = directives.message().await.unwrap().unwrap();
            if directive.kind() == DirectiveKind::Renew {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, told).await.expect("it is told");
    let before = session.epoch();
    let again = Session::resume(session.client.clone(), session.instance.clone())
        .await
        .unwrap();
    assert_eq!((again.epoch(), again.opened.resumed), (before, true));
    again
}

fn of(kind: &str, agent: &str) -> impl Fn(&Event) -> bool {
    let (kind, agent) = (kind.to_owned(), agent.to_owned());
    move |event| event.kind == kind && event.agent == agent
}

fn data(event: &Event) -> serde_json::Value {
    serde_json::from_str(&event.data_json).unwrap()
}

#[tokio::test]
async fn an_agent_is_moved_and_its_harness_told() {
    let mut hive = TestHive::builder().by_hand().start().await;
    create(&mut hive, "boss", Role::Manager, "operator").await;
    create(&mut hive, "lead", Role::Manager, "boss").await;
    create(&mut hive, "bee", Role::Agent, "lead").await;
    let session = hive.session("bee").await;
    assert_eq!(session.opened.parent, "lead");
    let since = hive.last_seq().await;
    let moved = hive
        .hive(&["agent", "move", "bee", "--parent", "boss"])
        .await;
    assert_eq!(moved.expect_code(0).stdout, "bee: below boss\n");
    let event = hive
        .event(since, "it moved", SOON, of("agent.moved", "bee"))
        .await;
    assert_eq!(data(&event), json!({"from": "lead", "to": "boss"}));
    let mut session = renewed(session).await;
    assert_eq!(session.opened.parent, "boss");
    session.send("<parent>", "done", "").await.unwrap();
    assert_eq!(hive.mailbox("boss").await.len(), 1);
    // What it has already is success and no event; a root's parent is the operator.
    hive.hive(&["agent", "move", "bee", "--parent", "boss"])
        .await
        .expect_code(0);
    hive.hive(&["agent", "move", "bee", "--root"])
        .await
        .expect_code(0);
    let next = hive
        .event(event.seq, "it moved again", SOON, of("agent.moved", "bee"))
        .await;
    assert_eq!(data(&next), json!({"from": "boss", "to": "operator"}));
    assert_eq!(parent(&hive, "bee").await, "operator");
    for (args, code, says) in [
        (&["boss", "--parent", "lead"], 4, "below"),
        (&["lead", "--parent", "lead"], 4, "below"),
        (&["bee", "--parent", "wasp"], 3, "wasp"),
        (&["wasp", "--parent", "boss"], 3, "wasp"),
        (&["bee", "--parent", "../x"], 2, ""),
    ] {
        let args: Vec<&str> = ["agent", "move"].iter().chain(args).copied().collect();
        let refused = hive.hive(&args).await.expect_code(code);
        assert!(
            refused.stderr.contains(says),
            "{args:?}: {}",
            refused.stderr
        );
    }
    hive.hive(&["agent", "move", "bee"]).await.expect_code(2);
    hive.hive_as("bee", &["agent", "move", "bee", "--root"])
        .await
        .expect_code(4);
}

#[tokio::test]
async fn children_belong_to_the_next_one_above_until_their_parent_comes_back() {
    let mut hive = TestHive::builder().by_hand().start().await;
    create(&mut hive, "boss", Role::Manager, "operator").await;
    create(&mut hive, "lead", Role::Manager, "boss").await;
    create(&mut hive, "bee", Role::Agent, "lead").await;
    hive.hive(&["agent", "rm", "lead"]).await.expect_code(0);
    assert_eq!(parent(&hive, "bee").await, "boss");
    create(&mut hive, "lead", Role::Manager, "boss").await;
    assert_eq!(parent(&hive, "bee").await, "lead", "it came back");
    hive.hive(&["agent", "rm", "lead", "--purge", "--yes"])
        .await
        .expect_code(0);
    assert_eq!(parent(&hive, "bee").await, "boss");
    hive.hive(&["agent", "rm", "boss"]).await.expect_code(0);
    assert_eq!(parent(&hive, "bee").await, "operator");
}

#[tokio::test]
async fn only_the_listed_are_written_to_and_every_refusal_is_audited() {
    let mut hive = TestHive::builder().by_hand().start().await;
    create(&mut hive, "boss", Role::Manager, "operator").await;
    for name in ["bee", "wasp"] {
        create(&mut hive, name, Role::Agent, "boss").await;
    }
    let list = [
        "agent",
        "rights",
        "bee",
        "--recipients",
        "<parent>,operator",
    ];
    let shown = hive.hive(&list).await.expect_code(0).stdout;
    assert!(
        shown.contains("<parent>") && shown.contains("operator"),
        "{shown}"
    );
    let shown = hive.hive(&["agent", "show", "bee", "--json"]).await.json();
    assert_eq!(shown["recipients"], json!(["operator", "<parent>"]));
    assert_eq!(shown["tool_groups"], json!(null));

    let mut bee = hive.session("bee").await;
    let since = hive.last_seq().await;
    bee.send("boss", "up", "").await.unwrap();
    bee.send("operator", "up", "").await.unwrap();
    let refused = bee.send("wasp", "across", "").await.unwrap_err();
    let refused = refusal(&refused);
    assert_eq!(refused.reason, Reason::NotPermitted);
    assert!(refused.hint.contains("hive agent rights"), "{refused:?}");
    let event = hive
        .event(since, "audited", SOON, of("call.refused", "bee"))
        .await;
    assert_eq!(data(&event)["method"], "AgentService/Send");
    let entry = |to: &str| SendRequest {
        to: to.to_owned(),
        body: "batch".to_owned(),
        ..Default::default()
    };
    let request = SendBatchRequest {
        sends: vec![entry("wasp"), entry("boss"), entry("*")],
    };
    let results = bee
        .client
        .send_batch(request)
        .await
        .unwrap()
        .into_inner()
        .results;
    assert!(matches!(
        &results[0].result,
        Some(send_result::Result::Error(_))
    ));
    assert!(matches!(
        &results[1].result,
        Some(send_result::Result::Ok(_))
    ));
    let Some(send_result::Result::Ok(all)) = &results[2].result else {
        panic!("{results:?}");
    };
    let each: Vec<_> = all
        .deliveries
        .iter()
        .map(|one| {
            (
                one.to.as_str(),
                one.error.as_ref().map(|error| error.reason()),
            )
        })
        .collect();
    let denied = Some(Reason::NotPermitted);
    assert_eq!(each, [("boss", None), ("wasp", denied)]);
    let event = hive
        .event(event.seq, "audited", SOON, of("call.refused", "bee"))
        .await;
    assert_eq!(data(&event)["method"], "AgentService/SendBatch");
    let question = AskRequest {
        question: "May I?".to_owned(),
        to: "wasp".to_owned(),
        ..Default::default()
    };
    let refused = bee.client.ask(question).await.unwrap_err();
    assert_eq!(refusal(&refused).reason, Reason::NotPermitted);
    let wake = WakeRequest {
        from: "cron".to_owned(),
        body: "tick".to_owned(),
        idempotency_key: String::new(),
    };
    bee.client.wake(wake).await.unwrap();
    assert!(hive.mailbox("wasp").await.is_empty());

    hive.hive(&["agent", "rights", "bee", "--all-recipients"])
        .await
        .expect_code(0);
    bee.send("wasp", "across", "").await.unwrap();
    for (recipients, code) in [("*", 2), ("ghost", 3), ("../x", 2)] {
        let args = ["agent", "rights", "bee", "--recipients", recipients];
        hive.hive(&args).await.expect_code(code);
    }
}

#[tokio::test]
async fn tools_are_given_and_taken_while_the_agent_runs() {
    let mut hive = TestHive::builder().by_hand().start().await;
    let args = ["agent", "create", "bee", "--engine", "scripted"];
    let groups = ["--tool-groups", "reminders"];
    let args: Vec<&str> = args.iter().chain(&groups).copied().collect();
    hive.remember("bee");
    hive.hive(&args).await.expect_code(0);
    hive.until_started("bee").await;
    let session = hive.session("bee").await;
    let tools = session.opened.tools.clone().unwrap();
    assert!(!tools.all && tools.only.len() == 1, "{tools:?}");
    let question = AskRequest {
        question: "May I?".to_owned(),
        ..Default::default()
    };
    let since = hive.last_seq().await;
    let mut client = session.client.clone();
    let refused = client.ask(question.clone()).await.unwrap_err();
    assert_eq!(refusal(&refused).reason, Reason::NotPermitted);
    let event = hive
        .event(since, "audited", SOON, of("call.refused", "bee"))
        .await;
    assert_eq!(data(&event)["method"], "AgentService/Ask");

    hive.hive(&["agent", "rights", "bee", "--all-tools"])
        .await
        .expect_code(0);
    let session = renewed(session).await;
    assert!(session.opened.tools.unwrap().all);
    client.ask(question).await.unwrap();
    hive.hive(&["agent", "rights", "bee", "--tool-groups", "shell"])
        .await
        .expect_code(2);
}

#[tokio::test]
async fn a_running_harness_opens_its_session_anew_and_goes_on() {
    let mut hive = TestHive::builder().start().await;
    create(&mut hive, "boss", Role::Manager, "operator").await;
    create(&mut hive, "bee", Role::Agent, "boss").await;
    hive.until_state("bee", "idle", SOON).await;
    let since = hive.last_seq().await;
    hive.hive(&["agent", "move", "bee", "--root"])
        .await
        .expect_code(0);
    hive.event(since, "it came back", SOON, of("session.resumed", "bee"))
        .await;
    let id = hive.send("bee", "still there?").await;
    hive.acked(id, SOON).await;
}

#[tokio::test]
async fn a10_what_an_agent_has_open_ends_with_it() {
    let mut hive = TestHive::builder().by_hand().start().await;
    for (name, act) in [
        ("bee", vec!["agent", "rm", "bee"]),
        ("wasp", vec!["agent", "stop", "wasp", "--now"]),
    ] {
        create(&mut hive, name, Role::Agent, "operator").await;
        let mut session = hive.session(name).await;
        let mut directives = session.directives.take().unwrap();
        let mut poll = tokio::task::JoinSet::new();
        poll.spawn(async move { session.recv(1, 180_000).await });
        let (acted, ended, polled) = tokio::join!(
            hive.hive(&act),
            tokio::time::timeout(SOON, async {
                while let Ok(Some(_)) = directives.message().await {}
            }),
            tokio::time::timeout(SOON, poll.join_next()),
        );
        acted.expect_code(0);
        assert!(ended.is_ok(), "{name}: its stream goes on");
        let polled = polled.expect("its poll goes on").unwrap().unwrap();
        polled.unwrap_err();
    }
}
