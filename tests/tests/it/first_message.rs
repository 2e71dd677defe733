//! The main job: an operator sends, an agent's turn runs, the answer arrives. Whole programs.

use std::time::Duration;

use hive_proto::v1::Outcome;
use hive_tests::TestHive;
use hive_tests::wait::SOON;

/// Answers every message of the operator with the body turned into a sentence.
pub const ECHO: &str = r#"
[[rule]]
from = "operator"
steps = [
    { tool = "send", args = { to = "operator", body = "echo: {{body}}" } },
]
[[rule]]
steps = [{ say = "noted" }]
"#;

/// A manager that hands the job to a worker and passes its answer on.
const DELEGATE: &str = r#"
[[rule]]
agent = "boss"
from = "operator"
steps = [{ tool = "send", args = { to = "worker", body = "job: {{body}}" } }]
[[rule]]
agent = "boss"
from = "worker"
steps = [{ tool = "send", args = { to = "operator", body = "done: {{body}}" } }]
[[rule]]
agent = "worker"
from = "boss"
steps = [{ tool = "send", args = { to = "boss", body = "did {{body}}" } }]
"#;

#[tokio::test]
async fn a_message_is_answered_once() {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    let id = hive.send("bee", "hello").await;
    let answer = hive.answer(id, SOON).await;
    assert_eq!(
        (answer.from.as_str(), answer.body.as_str()),
        ("bee", "echo: hello")
    );
    let life = hive.acked(id, SOON).await;
    assert_eq!(life.message.unwrap().result, "ok");
    let outcomes: Vec<Outcome> = life.turns.iter().map(|turn| turn.outcome()).collect();
    assert_eq!(outcomes, [Outcome::Ok]);
    assert_eq!(life.replies.len(), 1);
    hive.until_state("bee", "idle", SOON).await;
}

#[tokio::test]
async fn ten_fresh_messages_in_a_row_are_each_right() {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    for n in 0..10 {
        let id = hive.send("bee", &format!("message {n}")).await;
        let answer = hive.answer(id, SOON).await;
        assert_eq!(answer.body, format!("echo: message {n}"));
        assert_eq!(hive.acked(id, SOON).await.replies.len(), 1);
    }
    assert_eq!(hive.mailbox("").await.len(), 10);
}

#[tokio::test]
async fn ten_messages_at_once_are_each_answered_in_order() {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(hive.send("bee", &format!("message {n}")).await);
    }
    for id in &ids {
        hive.acked(*id, SOON).await;
    }
    let bodies: Vec<String> = hive.mailbox("").await.into_iter().map(|m| m.body).collect();
    let expected: Vec<String> = (0..10).map(|n| format!("echo: message {n}")).collect();
    assert_eq!(bodies, expected);
}

#[tokio::test]
async fn the_command_prints_the_answer() {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    let ran = hive
        .hive(&["send", "bee", "hello", "--wait"])
        .await
        .expect_code(0);
    assert!(ran.stdout.contains("echo: hello"), "{ran:?}");
    let ran = hive
        .hive_with(&["send", "bee", "-", "--wait"], Some("from stdin"))
        .await;
    assert!(ran.expect_code(0).stdout.contains("echo: from stdin"));
    // What was printed is read; what nobody has seen is listed.
    let id = hive.send("bee", "unseen").await;
    hive.answer(id, SOON).await;
    let inbox = hive.hive(&["inbox", "--json"]).await.expect_code(0);
    assert!(inbox.stdout.contains("echo: unseen"), "{inbox:?}");
    assert!(!inbox.stdout.contains("echo: hello"), "{inbox:?}");
}

#[tokio::test]
async fn a_manager_hands_on_and_reports_back() {
    let mut hive = TestHive::builder().script(DELEGATE).start().await;
    hive.create_manager("boss", "").await;
    hive.create("worker", "").await;
    hive.send("boss", "plan a picnic").await;
    let what = "the report reaches the operator";
    let inbox = hive_tests::wait::until(what, Duration::from_secs(60), || async {
        let inbox = hive.mailbox("").await;
        (!inbox.is_empty()).then_some(inbox)
    })
    .await;
    assert_eq!(inbox[0].body, "done: did job: plan a picnic");
}

#[tokio::test]
async fn a_wake_starts_a_turn_that_names_its_label() {
    let script = r#"
[[rule]]
from = "cron"
steps = [{ tool = "send", args = { to = "operator", body = "{{from}} said {{body}}" } }]
"#;
    let mut hive = TestHive::builder().script(script).start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    hive.hive_as("bee", &["wake", "--from", "cron", "--body", "tick"])
        .await
        .expect_code(0);
    hive_tests::wait::until("the turn reported", SOON, || async {
        let inbox = hive.mailbox("").await;
        inbox
            .iter()
            .any(|message| message.body == "cron said tick")
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_agents_socket_refuses_the_operators_commands() {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let commands: [&[&str]; 8] = [
        &["status"],
        &["agent", "ls"],
        &["agent", "create", "wasp"],
        &["agent", "stop", "bee"],
        &["agent", "rm", "bee"],
        &["dead", "ls"],
        &["watch"],
        &["backup", "-o", "/dev/null"],
    ];
    for args in commands {
        let ran = hive.hive_as("bee", args).await;
        assert_eq!(ran.code, 4, "{args:?}: {ran:?}");
    }
}
