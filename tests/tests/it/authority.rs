//! Who may call what: every method of hive.v1, as the descriptors list them, on every kind of socket.

use std::collections::HashSet;
use std::path::Path;

use hive_proto::methods::{self, Method};
use hive_proto::v1::{
    CreateAgentRequest, Event, ListSubtreeRequest, MarkReadRequest, MessageState, Reason,
    RemoveAgentRequest, Role, SendRequest,
};
use hive_tests::TestHive;
use hive_tests::client::{Code, Request, call_by_path, refusal};
use hive_tests::wait::{SOON, until};

/// On whose socket a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Agent,
    Manager,
    Operator,
}

/// Why a socket refuses a method; none: it is served there.
fn expected(on: On, method: &Method) -> Option<Reason> {
    match (on, method.service.as_str()) {
        (On::Agent | On::Manager, "hive.v1.AgentService")
        | (On::Manager, "hive.v1.ManagerService")
        | (On::Operator, "hive.v1.OperatorService") => None,
        (On::Agent, "hive.v1.ManagerService") => Some(Reason::WrongRole),
        (On::Agent | On::Manager, "hive.v1.OperatorService")
        | (On::Operator, "hive.v1.AgentService" | "hive.v1.ManagerService") => {
            Some(Reason::NotPermitted)
        }
        (_, other) => panic!("{other} is a new service: say who may call it"),
    }
}

/// Whether the refusal is for lack of a right.
fn is_denial(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NotPermitted | Reason::WrongRole | Reason::NotInSubtree
    )
}

/// Calls every method on one socket and returns the names of those that were refused.
async fn call_all(on: On, socket: &Path) -> HashSet<String> {
    let mut denied = HashSet::new();
    for method in methods::all().unwrap() {
        let what = format!("{} on {on:?}", method.path());
        let answer = call_by_path(socket, &method.service, &method.name).await;
        let refused = answer.map_err(|status| refusal(&status));
        match (expected(on, &method), refused) {
            (None, Err(refused)) => assert!(!is_denial(refused.reason), "{what}: {refused:?}"),
            (None, Ok(())) => {}
            (Some(reason), Err(refused)) => {
                assert_eq!(refused.reason, reason, "{what}");
                assert!(!refused.message.is_empty() && !refused.hint.is_empty());
                let service = method.service.trim_start_matches("hive.v1.");
                denied.insert(format!("{service}/{}", method.name));
            }
            (Some(_), Ok(())) => panic!("{what} was served"),
        }
    }
    denied
}

/// Events after `since`, until all of these methods were audited as refused to `agent`.
async fn audited(
    hive: &TestHive,
    since: i64,
    agent: &str,
    methods: &HashSet<String>,
) -> Vec<Event> {
    let mut missing = methods.clone();
    let mut all = Vec::new();
    let mut events = hive.watch(since).await;
    let read = async {
        while !missing.is_empty() {
            let event = events.message().await.unwrap().unwrap();
            if event.kind == "call.refused" && event.agent == agent {
                let data: serde_json::Value = serde_json::from_str(&event.data_json).unwrap();
                missing.remove(data["method"].as_str().unwrap());
            }
            all.push(event);
        }
    };
    let read = tokio::time::timeout(SOON, read).await;
    assert!(read.is_ok(), "not audited for {agent:?}: {missing:?}");
    all
}

async fn create_under(hive: &mut TestHive, name: &str, role: Role, parent: &str) {
    let request = CreateAgentRequest {
        name: name.to_owned(),
        role: role.into(),
        parent: parent.to_owned(),
        engine: "scripted".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await.unwrap();
}

#[tokio::test]
async fn every_denied_call_is_refused_audited_and_without_effect() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create_manager("boss", "").await;
    create_under(&mut hive, "bee", Role::Agent, "boss").await;
    hive.send("bee", "untouched").await;
    let mut called = 0;
    for (on, name) in [(On::Agent, "bee"), (On::Manager, "boss")] {
        let socket = hive.broker_socket(name).await;
        let since = hive.last_seq().await;
        let denied = call_all(on, &socket).await;
        called += denied.len();
        for event in audited(&hive, since, name, &denied).await {
            // Nothing else happened but what the hive does by itself, and the SetStatus of its own.
            let own = ["agent.state", "session.lost", "agent.status"];
            let own = own.contains(&event.kind.as_str());
            assert!(own || event.kind == "call.refused", "{event:?}");
        }
    }
    let since = hive.last_seq().await;
    let denied = call_all(On::Operator, &hive.operator_socket()).await;
    called += denied.len();
    audited(&hive, since, "", &denied).await;
    assert!(called > 50, "{called}");
    let mail = hive.mailbox("bee").await;
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!(mail[0].state(), MessageState::Queued);
}

#[tokio::test]
async fn nothing_introspects_and_nothing_unknown_is_served() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let agent = hive.broker_socket("bee").await;
    for socket in [agent, hive.operator_socket()] {
        for (service, method) in [
            (
                "grpc.reflection.v1.ServerReflection",
                "ServerReflectionInfo",
            ),
            (
                "grpc.reflection.v1alpha.ServerReflection",
                "ServerReflectionInfo",
            ),
            ("grpc.health.v1.Health", "Check"),
        ] {
            let status = call_by_path(&socket, service, method).await.unwrap_err();
            assert_eq!(status.code(), Code::Unimplemented, "{service}");
        }
        for (service, method) in [
            ("hive.v1.AgentService", "Approve"),
            ("hive.v1.AdminService", "Anything"),
        ] {
            let status = call_by_path(&socket, service, method).await.unwrap_err();
            assert_eq!(refusal(&status).reason, Reason::NotPermitted, "{service}");
        }
    }
}

#[tokio::test]
async fn a_flood_of_refused_calls_is_written_down_once() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let socket = hive.broker_socket("bee").await;
    let since = hive.last_seq().await;
    for _ in 0..300 {
        call_by_path(&socket, "hive.v1.OperatorService", "Backup")
            .await
            .unwrap_err();
    }
    // The last one written: when it is there, all before it are. So many calls a second may have met
    // another limit, which is no lack of a right.
    until("it is refused for lack of a right", SOON, || async {
        let called = call_by_path(&socket, "hive.v1.OperatorService", "ListDead").await;
        match refusal(&called.unwrap_err()).reason {
            Reason::NotPermitted => Some(()),
            Reason::RateLimited => None,
            other => panic!("{other:?}"),
        }
    })
    .await;
    let last = HashSet::from(["OperatorService/ListDead".to_owned()]);
    let events = audited(&hive, since, "bee", &last).await;
    let rows = events.iter().filter(|event| event.kind == "call.refused");
    assert_eq!(rows.count(), 2, "{events:?}");
}

#[tokio::test]
async fn a_manager_sees_its_subtree_and_only_while_it_is_one() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create_manager("boss", "").await;
    create_under(&mut hive, "mid", Role::Manager, "boss").await;
    create_under(&mut hive, "leaf", Role::Agent, "mid").await;
    hive.create_manager("other", "").await;
    let names = async |name: &str| -> Vec<String> {
        hive.broker_socket(name).await;
        let below = hive.manager(name).list_agents(ListSubtreeRequest {}).await;
        let agents = below.unwrap().into_inner().agents;
        agents.into_iter().map(|agent| agent.name).collect()
    };
    assert_eq!(names("boss").await, ["leaf", "mid"]);
    assert_eq!(names("mid").await, ["leaf"]);
    assert_eq!(names("other").await, [] as [&str; 0]);

    // It comes back under its id, as a plain agent.
    let mut old = hive.manager("mid");
    old.list_agents(ListSubtreeRequest {}).await.unwrap();
    let remove = RemoveAgentRequest {
        name: "mid".to_owned(),
        purge: false,
    };
    hive.operator().remove_agent(remove).await.unwrap();
    old.list_agents(ListSubtreeRequest {}).await.unwrap_err();
    create_under(&mut hive, "mid", Role::Agent, "boss").await;
    hive.broker_socket("mid").await;
    let refused = hive
        .manager("mid")
        .list_agents(ListSubtreeRequest {})
        .await
        .unwrap_err();
    assert_eq!(refusal(&refused).reason, Reason::WrongRole);
}

#[tokio::test]
async fn who_calls_is_the_socket_and_never_the_request() {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "wasp"] {
        hive.create(name, "").await;
    }
    let mut session = hive.session("bee").await;
    let request = SendRequest {
        to: "wasp".to_owned(),
        body: "hello".to_owned(),
        ..Default::default()
    };
    let mut request = Request::new(request);
    for header in [
        "x-hive-agent",
        "x-hive-role",
        "agent",
        "authorization",
        "x-forwarded-for",
    ] {
        request
            .metadata_mut()
            .insert(header, "wasp".parse().unwrap());
    }
    session.client.send(request).await.unwrap();
    assert_eq!(hive.mailbox("wasp").await[0].from, "bee");
    // Marking read is the operator's: for an agent's mail it changes nothing.
    let id = hive.mailbox("wasp").await[0].id;
    let answer = hive
        .operator()
        .mark_read(MarkReadRequest { ids: vec![id] })
        .await;
    match answer {
        Ok(answer) => assert_eq!(answer.into_inner().marked, 0),
        Err(status) => assert_ne!(refusal(&status).reason, Reason::Internal),
    }
    let state = hive.mailbox("wasp").await[0].state();
    assert_eq!(state, hive_proto::v1::MessageState::Queued);
}

#[tokio::test]
async fn an_agent_made_anew_under_an_old_name_inherits_nothing() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let mut old = hive.session("bee").await;
    hive.send("bee", "for the first one").await;
    // Without a purge the same agent would come back.
    let purge = RemoveAgentRequest {
        name: "bee".to_owned(),
        purge: true,
    };
    hive.operator().remove_agent(purge).await.unwrap();
    hive_tests::wait::until("it is gone", SOON, || async {
        let ran = hive.hive(&["agent", "show", "bee"]).await;
        (ran.code == 3).then_some(())
    })
    .await;
    hive.create("bee", "").await;
    // The old socket, the old epoch: neither speaks for the new one.
    assert!(old.recv(1, 100).await.is_err());
    let new = hive.session("bee").await;
    assert_ne!(new.opened.agent_id, old.opened.agent_id);
}
