//! Who may call what: every method of every service, as the .proto files list them.

use hive_proto::v1::{MarkReadRequest, Reason, RemoveAgentRequest, SendRequest};
use hive_tests::client::{Code, Request, call_by_path, refusal};
use hive_tests::wait::SOON;
use hive_tests::{TestHive, tidy};

/// Service and method of every RPC of hive.v1.
fn methods() -> Vec<(String, String)> {
    let folder = tidy::root().join("proto/hive/v1");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut service = String::new();
        for line in text.lines() {
            let word = |after: &str| {
                let rest = line.trim_start().strip_prefix(after)?;
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                (!name.is_empty()).then_some(name)
            };
            if let Some(name) = word("service ") {
                service = format!("hive.v1.{name}");
            }
            if let Some(name) = word("rpc ") {
                found.push((service.clone(), name));
            }
        }
    }
    found
}

#[tokio::test]
async fn an_agents_socket_serves_the_agents_service_alone() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    hive.send("bee", "untouched").await;
    let socket = hive.agent_sockets("bee").join("broker.sock");
    hive_tests::wait::until("the socket is there", SOON, || {
        std::future::ready(socket.exists().then_some(()))
    })
    .await;
    let all = methods();
    assert!(all.len() > 30, "{all:?}");
    let mut denied = 0;
    for (service, method) in &all {
        let answer = call_by_path(&socket, service, method).await;
        let unknown = answer
            .as_ref()
            .is_err_and(|status| status.code() == Code::Unimplemented);
        assert_eq!(
            unknown,
            service != "hive.v1.AgentService",
            "{service}/{method}: {answer:?}"
        );
        denied += usize::from(unknown);
    }
    assert!(denied > 15, "{denied}");
    // Nothing that introspects, either.
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
    let state = hive.mailbox("bee").await[0].state();
    assert_eq!(state, hive_proto::v1::MessageState::Queued);
}

#[tokio::test]
async fn the_operators_socket_serves_the_operators_service_alone() {
    let hive = TestHive::builder().by_hand().start().await;
    for (service, method) in methods() {
        if service == "hive.v1.OperatorService" {
            continue;
        }
        let status = call_by_path(&hive.operator_socket(), &service, &method)
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{service}/{method}");
    }
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
