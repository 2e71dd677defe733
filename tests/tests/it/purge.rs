//! Removing an agent with everything it has: its mail, its files, its name.

use hive_proto::v1::{MessageState, RemoveAgentRequest};
use hive_tests::TestHive;
use hive_tests::mail::state;

/// Removes an agent with all that it has.
async fn purge(hive: &TestHive, name: &str) {
    let request = RemoveAgentRequest {
        name: name.to_owned(),
        purge: true,
    };
    hive.operator().remove_agent(request).await.unwrap();
}

#[tokio::test]
async fn the_mail_of_a_purged_agent_is_dead_and_its_senders_know() {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "ant"] {
        hive.create(name, "").await;
    }
    let mut ant = hive.session("ant").await;
    let mut bee = hive.session("bee").await;
    let taken = ant.send("bee", "taken", "").await.unwrap().id;
    assert_eq!(bee.recv(1, 1_000).await.unwrap().messages[0].id, taken);
    let second = ant.send("bee", "second", "").await.unwrap().id;
    let asked = hive.send("bee", "asked").await;
    purge(&hive, "bee").await;
    for id in [taken, second, asked] {
        let life = hive.life(id).await;
        assert_eq!(state(&life), MessageState::Dead, "{life:#?}");
        assert_eq!(life.message.unwrap().result, "recipient purged");
        // Nobody is left to run it.
        let ran = hive.hive(&["dead", "requeue", &id.to_string()]).await;
        let said = ran.expect_code(4).stderr;
        assert!(said.contains("purged"), "{said}");
    }
    // One notice each: the sender's names its two messages, the operator's all three.
    let told = ant.recv(8, 1_000).await.unwrap().messages;
    assert_eq!(told.len(), 1, "{told:?}");
    let body = &told[0].body;
    assert!(
        body.contains("bee") && body.contains("2 messages"),
        "{body}"
    );
    let told = hive.mailbox("").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let body = &told[0].body;
    assert!(
        body.contains("3 messages") && body.contains("2 from ant"),
        "{body}"
    );
    // A question that waits for an answer ends, and what is dead for good waits for nobody.
    let json = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let waiting = json["waiting"].as_array().unwrap();
    assert!(waiting.iter().all(|one| one["kind"] == "message"), "{json}");
}
