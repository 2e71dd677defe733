//! What a harness does with its turns, over a real broker.

use hive_proto::v1::{AgentRef, MessageState, Outcome};
use hive_tests::hive::TestHive;
use hive_tests::wait::SOON;

/// A hive with one agent that plays `script`.
async fn hive(script: &str) -> TestHive {
    let mut hive = TestHive::builder().start().await;
    hive.create("bob", script).await;
    hive
}

#[tokio::test]
async fn a_rate_limit_is_seen_and_passes_by_itself() {
    let hive = hive(
        r#"
        [[rule]]
        steps = [
          { fail = "rate_limited", retry_after = "2s", times = 1 },
          { tool = "send", args = { to = "operator", body = "after it" } },
        ]"#,
    )
    .await;
    let id = hive.send("bob", "go").await;
    hive.until_state("bob", "rate_limited", SOON).await;
    let parked = hive.life(id).await;
    let turn = parked.turns.last().unwrap();
    assert_eq!(turn.outcome(), Outcome::RateLimited);
    assert_eq!(parked.message.unwrap().state(), MessageState::Queued);
    assert_eq!(hive.answer(id, SOON).await.body, "after it");
    let life = hive.acked(id, SOON).await;
    assert_eq!(life.message.unwrap().attempt, 0);
    assert_eq!(life.turns.len(), 2);
    hive.until_state("bob", "idle", SOON).await;
}

#[tokio::test]
async fn a_key_that_is_put_right_ends_the_wait_for_a_login() {
    let hive = hive(
        r#"
        [[rule]]
        steps = [
          { fail = "auth_failed", times = 1 },
          { tool = "send", args = { to = "operator", body = "logged in" } },
        ]"#,
    )
    .await;
    let id = hive.send("bob", "go").await;
    hive.until_state("bob", "needs_login", SOON).await;
    let login = hive.home().join("agents/bob/home/.claude");
    std::fs::create_dir_all(&login).unwrap();
    std::fs::write(login.join(".credentials.json"), "{}").unwrap();
    assert_eq!(hive.answer(id, SOON).await.body, "logged in");
}

#[tokio::test]
async fn what_a_turn_took_comes_again_in_order_when_its_harness_dies() {
    let hive = hive(
        r#"
        [[rule]]
        body = "^first"
        redelivered = false
        steps = [
          { tool = "recv", args = { wait_seconds = 30 } },
          { crash = "harness" },
        ]
        [[rule]]
        steps = [{ tool = "send", args = { to = "operator", body = "{{body}}", in_reply_to = "{{id}}" } }]"#,
    )
    .await;
    let first = hive.send("bob", "first").await;
    let second = hive.send("bob", "second").await;
    let third = hive.send("bob", "third").await;
    let mut answers = Vec::new();
    for id in [first, second, third] {
        answers.push(hive.answer(id, SOON).await);
    }
    let said: Vec<_> = answers.iter().map(|answer| answer.body.as_str()).collect();
    assert_eq!(said, ["first", "second", "third"]);
    assert!(answers.is_sorted_by_key(|answer| answer.id));
    for (id, redelivered) in [(first, true), (second, true), (third, false)] {
        let message = hive.life(id).await.message.unwrap();
        assert_eq!(message.redelivered, redelivered, "message {id}");
        assert_eq!(message.attempt, u32::from(redelivered), "message {id}");
    }
}

#[tokio::test]
async fn a_turn_can_ask_for_the_next() {
    let hive = hive(
        r#"
        [[rule]]
        from = "self"
        steps = [{ tool = "send", args = { to = "operator", body = "{{from}} says {{body}}" } }]
        [[rule]]
        steps = [{ tool = "request_next_turn" }]"#,
    )
    .await;
    hive.send("bob", "go").await;
    assert_eq!(told(&hive, 1).await, ["self says continue"]);
}

#[tokio::test]
async fn a_cancelled_turn_says_nothing_more() {
    let hive = hive(
        r#"
        [[rule]]
        body = "long"
        steps = [
          { wait = "10m" },
          { tool = "send", args = { to = "operator", body = "never" } },
        ]
        [[rule]]
        steps = [{ tool = "send", args = { to = "operator", body = "short" } }]"#,
    )
    .await;
    let id = hive.send("bob", "long").await;
    hive.until_state("bob", "thinking", SOON).await;
    let request = AgentRef {
        name: "bob".to_owned(),
    };
    hive.operator().cancel_turn(request).await.unwrap();
    let life = hive.acked(id, SOON).await;
    assert_eq!(life.message.unwrap().result, "cancelled");
    let next = hive.send("bob", "x").await;
    assert_eq!(hive.answer(next, SOON).await.body, "short");
}

#[tokio::test]
async fn a_program_of_the_agent_wakes_it_and_may_not_act_as_the_operator() {
    let hive = hive(
        r#"
        [[rule]]
        from = "cron"
        steps = [{ tool = "send", args = { to = "operator", body = "{{from}}: {{body}}" } }]
        [[rule]]
        steps = [
          { shell = "hive agent ls; echo $?", save = "code" },
          { tool = "send", args = { to = "operator", body = "{{code}}" } },
          { shell = "hive wake --from cron --body tick" },
        ]"#,
    )
    .await;
    hive.send("bob", "go").await;
    let told = told(&hive, 2).await;
    assert!(told[0].starts_with('4'), "{told:?}");
    assert_eq!(told[1], "cron: tick");
}

/// Waits for this many messages to the operator and gives their bodies.
async fn told(hive: &TestHive, count: usize) -> Vec<String> {
    hive_tests::wait::until("the operator is told", SOON, || async {
        let mailbox = hive.mailbox("").await.into_iter();
        let bodies: Vec<String> = mailbox.map(|message| message.body).collect();
        (bodies.len() >= count).then_some(bodies)
    })
    .await
}
