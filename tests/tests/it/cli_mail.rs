//! `hive send`, `inbox`, `message show` and `dead` on a whole hive.

use hive_tests::TestHive;
use hive_tests::wait::SOON;

const SCRIPT: &str = r#"
[[rule]]
body = '^echo'
steps = [{ tool = "send", args = { to = "operator", body = "you said: {{body}}" } }]
[[rule]]
body = '^twice'
steps = [
  { tool = "send", args = { to = "operator", body = "one" } },
  { tool = "send", args = { to = "operator", body = "two" } },
]
[[rule]]
body = '^refuse'
steps = [{ fail = "refused" }]
[[rule]]
body = '^think'
steps = [{ wait = "60s" }]
[[rule]]
body = '^steer'
steps = [{ tool = "send", args = { to = "operator", body = "\u001b[31mred\u202e\nnext" } }]
[[rule]]
steps = [{ say = "silent" }]
"#;

async fn bee() -> TestHive {
    let mut hive = TestHive::builder().script(SCRIPT).start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    hive
}

#[tokio::test]
async fn an_id_is_printed_and_a_key_sends_once() {
    let hive = bee().await;
    let send = ["send", "bee", "hello", "--key", "k1"];
    let first = hive.hive(&send).await.expect_code(0).stdout;
    assert!(first.trim().parse::<i64>().is_ok(), "{first}");
    assert_eq!(hive.hive(&send).await.expect_code(0).stdout, first);
    let other = ["send", "bee", "another body", "--key", "k1"];
    hive.hive(&other).await.expect_code(4);
    let json = hive.hive(&["send", "bee", "hello", "--key", "k1", "--json"]);
    let json = json.await.expect_code(0).json();
    assert_eq!(json["duplicate"], true);
    assert_eq!(json["id"].to_string(), first.trim());
}

#[tokio::test]
async fn a_wait_prints_the_answer_and_marks_it_read() {
    let hive = bee().await;
    let ran = hive.hive(&["send", "bee", "echo 1", "--wait"]).await;
    assert_eq!(ran.expect_code(0).stdout, "you said: echo 1\n");
    let inbox = hive.hive(&["inbox", "--json"]).await.expect_code(0).json();
    assert_eq!(inbox, serde_json::json!([]));
    let all = hive.hive(&["inbox", "--all", "--json"]).await.json();
    assert_eq!(all[0]["state"], "acked");
    assert_eq!(all[0]["result"], "read");
    let json = hive.hive(&["send", "bee", "echo 2", "--wait", "--json"]);
    let json = json.await.expect_code(0).json();
    assert_eq!(json["replies"][0]["body"], "you said: echo 2");
}

#[tokio::test]
async fn a_wait_ends_with_the_outcome_or_with_the_time() {
    let hive = bee().await;
    let silent = hive.hive(&["send", "bee", "nothing", "--wait"]).await;
    let silent = silent.expect_code(1);
    assert!(silent.stderr.contains("without an answer"), "{silent:?}");
    let refused = hive.hive(&["send", "bee", "refuse", "--wait"]).await;
    let refused = refused.expect_code(1);
    assert!(refused.stderr.contains("failed (refused)"), "{refused:?}");
    let late = ["send", "bee", "think", "--wait", "--timeout", "1s"];
    let late = hive.hive(&late).await.expect_code(6);
    assert!(late.stderr.contains("stays"), "{late:?}");
    hive.until_state("bee", "thinking", SOON).await;
    hive.hive(&["agent", "cancel", "bee"]).await.expect_code(0);
}

#[tokio::test]
async fn reading_marks_read_and_peeking_does_not() {
    let hive = bee().await;
    let id = hive.send("bee", "twice").await;
    hive.acked(id, SOON).await;
    for _ in 0..2 {
        let peek = hive.hive(&["inbox", "--peek"]).await.expect_code(0).stdout;
        assert!(peek.contains("one") && peek.contains("two"), "{peek}");
        assert!(peek.contains(&format!("in reply to {id}")), "{peek}");
    }
    let read = hive.hive(&["inbox", "-n", "1"]).await.expect_code(0).stdout;
    assert!(!read.contains("one") && read.contains("two"), "{read}");
    let rest = hive.hive(&["inbox"]).await.expect_code(0).stdout;
    assert!(rest.contains("one") && !rest.contains("two"), "{rest}");
    let none = hive.hive(&["inbox"]).await.expect_code(0).stdout;
    assert_eq!(none, "no unread messages\n");
}

#[tokio::test]
async fn a_life_is_shown_with_its_turn_and_its_answer() {
    let hive = bee().await;
    let id = hive.send("bee", "echo me").await;
    hive.acked(id, SOON).await;
    let shown = hive.hive(&["message", "show", &id.to_string()]).await;
    let shown = shown.expect_code(0).stdout;
    for part in [
        "acked",
        "message.queued",
        "message.leased",
        "scripted",
        "you said",
    ] {
        assert!(shown.contains(part), "no {part} in:\n{shown}");
    }
    let json = hive
        .hive(&["message", "show", &id.to_string(), "--json"])
        .await
        .json();
    assert_eq!(json["result"], "ok");
    assert_eq!(json["turns"][0]["outcome"], "ok");
    assert_eq!(json["replies"][0]["in_reply_to"], id);
    assert!(json["queued_at"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn an_agent_cannot_steer_the_terminal() {
    let hive = bee().await;
    let ran = hive.hive(&["send", "bee", "steer", "--wait"]).await;
    let stdout = ran.expect_code(0).stdout;
    assert_eq!(stdout, "\\u{1b}[31mred\\u{202e}\nnext\n");
    let json = hive.hive(&["inbox", "--all", "--json"]).await;
    assert!(json.stdout.contains("\\u202e") && !json.stdout.contains('\u{202e}'));
    assert_eq!(json.json()[0]["body"], "\u{1b}[31mred\u{202e}\nnext");
}

#[tokio::test]
async fn everybody_is_a_recipient() {
    let mut hive = bee().await;
    hive.create("wasp", "").await;
    let ran = hive.hive(&["send", "*", "hello all"]).await.expect_code(0);
    let mut names: Vec<_> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["bee", "wasp"]);
}

#[tokio::test]
async fn beside_an_agent_it_sends_reads_and_wakes_as_that_agent() {
    let hive = bee().await;
    hive.hive_as("bee", &["send", "operator", "hello from bee"])
        .await
        .expect_code(0);
    let inbox = hive.hive(&["inbox", "--json"]).await.expect_code(0).json();
    assert_eq!(inbox[0]["from"], "bee");
    let wake = ["wake", "--from", "cron", "--body", "tick", "--key", "9am"];
    let first = hive.hive_as("bee", &wake).await.expect_code(0).stdout;
    let again = hive.hive_as("bee", &wake).await.expect_code(0).stdout;
    assert_eq!(first, again);
    let id: i64 = first.trim().parse().unwrap();
    hive.acked(id, SOON).await;
    let own = hive.hive_as("bee", &["inbox", "--all", "--json"]).await;
    assert_eq!(own.expect_code(0).json()[0]["from"], "cron");
    for label in ["operator", "Cron", "bee", "../x"] {
        let wake = ["wake", "--from", label, "--body", "tick"];
        hive.hive_as("bee", &wake).await.expect_code(2);
    }
}

#[tokio::test]
async fn no_dead_messages_is_an_empty_list() {
    let hive = bee().await;
    let list = hive.hive(&["dead", "ls", "--json"]).await.expect_code(0);
    assert_eq!(list.json(), serde_json::json!([]));
}
