//! The real Claude Code in a container without a network, on the scripted upstream.

use std::time::Duration;

use hive_proto::v1::{AnswerQuestionRequest, CreateAgentRequest, ListQuestionsRequest, Reason};
use hive_tests::client::refusal;
use hive_tests::docker::{docker, shell};
use hive_tests::mail::attempt;
use hive_tests::wait::until;
use hive_tests::{Runtime, TestHive, programs};

/// What the model says; the peer runs the scripted engine and tells the operator what it got.
fn upstream(peer: &str) -> String {
    format!(
        r#"
[[rule]]
body = "greet"
steps = [
    {{ tool = "send", args = {{ to = "{peer}", body = "hello from the model" }} }},
    {{ say = "I greeted." }},
]
[[rule]]
body = "login"
steps = [{{ status = 401, times = 3 }}, {{ say = "Logged in." }}]
[[rule]]
body = "limit"
steps = [
    {{ status = 429, retry_after = "6s", times = 3 }},
    {{ tool = "send", args = {{ to = "operator", body = "after the limit" }} }},
]
[[rule]]
body = "decide"
steps = [
    {{ tool = "ask", args = {{ question = "Where to?", options = ["lake", "hill", "park"] }} }},
    {{ tool = "ask", args = {{ question = "What to eat?", to = "{peer}", wait_seconds = 60 }}, save = "food" }},
    {{ tool = "send", args = {{ to = "operator", body = "we eat {{{{food.answer}}}}" }} }},
]
[[rule]]
body = "question_answered.*Where to"
steps = [{{ tool = "send", args = {{ to = "operator", body = "decided: {{{{body}}}}" }} }}]
[[rule]]
steps = [{{ tool = "send", args = {{ to = "operator", body = "echo: {{{{body}}}}" }} }}]
"#
    )
}

const PEER: &str = r#"
[[rule]]
body = "question_asked"
steps = [
    { tool = "get_loose_ends", save = "open" },
    { tool = "answer", args = { id = "{{open.loose_ends.0.id}}", answer = "fish" } },
]
[[rule]]
steps = [{ tool = "send", args = { to = "operator", body = "{{from}} told me: {{body}}" } }]
"#;

/// Claude needs some seconds to start, and the machine is busy.
const TURN: Duration = Duration::from_secs(120);
const SECRET: &str = "sk-ant-canary-0123456789";

/// A hive with the real claude as `one`, and a scripted peer.
async fn with_claude() -> (TestHive, String, String) {
    let mut hive = TestHive::builder().runtime(Runtime::Docker).prepare();
    let (name, peer) = (hive.unique("one"), hive.unique("two"));
    let setup = TestHive::builder()
        .runtime(Runtime::Docker)
        .scripted_upstream(&upstream(&peer))
        .env("ANTHROPIC_API_KEY", SECRET);
    hive.replace_setup(setup);
    let claude = programs::claude();
    let from = claude.to_str().unwrap();
    hive.hive(&["engine", "install", "claude@2.1.332", "--from", from])
        .await
        .expect_code(0);
    hive.start().await;
    hive.create(&peer, PEER).await;
    let request = CreateAgentRequest {
        name: name.clone(),
        engine: "claude".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await.unwrap();
    hive.until_state(&name, "idle", TURN).await;
    hive.until_state(&peer, "idle", TURN).await;
    (hive, name, peer)
}

#[tokio::test]
async fn claude_sends_to_a_peer_and_parks_and_comes_back() {
    let (hive, name, peer) = with_claude().await;

    // The model's tool call reaches another agent.
    let id = hive.send(&name, "please greet").await;
    let what = format!("{name} told me: hello from the model");
    until("the peer reports", TURN, || async {
        hive.mailbox("")
            .await
            .iter()
            .any(|m| m.from == peer && m.body == what)
            .then_some(())
    })
    .await;
    let life = hive.acked(id, TURN).await;
    let usage = life.turns[0].usage.unwrap_or_default();
    assert!(
        usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens > 0,
        "{usage:?}"
    );
    assert_eq!(usage.tool_calls, 1, "{usage:?}");

    // A limit parks it until the given time; the message runs again by itself.
    let id = hive.send(&name, "limit").await;
    hive.until_state(&name, "rate_limited", TURN).await;
    let listed = hive.hive(&["agent", "ls"]).await.expect_code(0);
    assert!(listed.stdout.contains("rate_limited"), "{}", listed.stdout);
    assert_eq!(hive.answer(id, TURN).await.body, "after the limit");
    assert_eq!(attempt(&hive.acked(id, TURN).await), 0);

    // A refused key parks it; the harness tries again once a minute, and the message runs by itself.
    // (Claude makes three calls a turn: its own two retries are counted by the script, too.)
    let id = hive.send(&name, "login").await;
    hive.until_state(&name, "needs_login", TURN).await;
    let listed = hive.hive(&["agent", "ls"]).await.expect_code(0);
    assert!(listed.stdout.contains("needs_login"), "{}", listed.stdout);
    let life = hive.acked(id, Duration::from_secs(180)).await;
    assert_eq!(attempt(&life), 0);

    // No key, wherever one looks, while a process of claude is kept.
    let container = hive.container(&name);
    let (_, seen) = shell(
        &container,
        "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
         grep -rl sk-ant-canary /state /home/agent /harness /run /tmp 2>/dev/null",
    );
    assert!(seen.contains("HIVE_AGENT"), "{seen}");
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(!docker(&["inspect", &container]).contains(SECRET));
}

#[tokio::test]
async fn ten_fresh_messages_in_a_row_are_each_right_with_claude() {
    let (hive, name, _) = with_claude().await;
    for n in 0..10 {
        let id = hive.send(&name, &format!("message {n}")).await;
        assert_eq!(
            hive.answer(id, TURN).await.body,
            format!("echo: message {n}")
        );
        assert_eq!(hive.acked(id, TURN).await.replies.len(), 1);
    }
}

#[tokio::test]
async fn claude_asks_the_operator_and_a_peer_and_goes_on_with_their_answers() {
    let (hive, name, peer) = with_claude().await;
    let said = |body: &'static str| {
        let (hive, name) = (&hive, &name);
        until(body, TURN, move || async move {
            let mail = hive.mailbox("").await;
            mail.into_iter()
                .find(|m| &m.from == name && m.body.contains(body))
        })
    };

    hive.send(&name, "please decide").await;
    // The peer's answer is the result of the call that waits for it, and no message besides.
    said("we eat fish").await;
    let told = hive.mailbox(&name).await;
    let answered = told
        .iter()
        .filter(|m| m.body.contains("question_answered"))
        .map(|m| (m.body.contains("fish"), m.state()))
        .collect::<Vec<_>>();
    assert!(answered.len() <= 1, "{answered:?}");

    // The operator's answer begins a turn of its own.
    let open = hive
        .operator()
        .list_questions(ListQuestionsRequest::default())
        .await
        .unwrap()
        .into_inner()
        .questions;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0].options, ["lake", "hill", "park"]);
    assert_eq!((&*open[0].asker, &*open[0].target), (&*name, "operator"));
    // A third party decides nothing.
    let mut third = hive.agent(&peer);
    let request = AnswerQuestionRequest {
        id: open[0].id,
        answer: "hill".to_owned(),
    };
    let refused = third.answer_question(request.clone()).await.unwrap_err();
    assert_eq!(refusal(&refused).reason, Reason::NotPermitted);
    let request = AnswerQuestionRequest {
        answer: "lake".to_owned(),
        ..request
    };
    hive.operator().answer_question(request).await.unwrap();
    let decided = said("decided: ").await;
    assert!(
        decided.body.contains("\"answer\":\"lake\""),
        "{}",
        decided.body
    );
}
