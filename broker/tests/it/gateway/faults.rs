//! The faults of a script as a client of the Messages API meets them.

use std::sync::Arc;
use std::time::Duration;

use hive_proto::script::Script;
use hived::gateway::scripted::{Scripted, Standalone, serve_standalone};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::gateway::kit::{Answer, Door, request};

const STREAM: Delivery = Delivery { stream: true };
const DOCUMENT: Delivery = Delivery { stream: false };

#[derive(Clone, Copy)]
struct Delivery {
    stream: bool,
}

fn door(steps: &str) -> Door {
    Door::scripted(&format!("[[rule]]\nsteps = [{steps}]"))
}

fn body(delivery: Delivery) -> String {
    let prompt = "[message 1 from operator]\nhello";
    let messages = json!([{ "role": "user", "content": prompt }]);
    json!({ "model": "m", "stream": delivery.stream, "messages": messages }).to_string()
}

async fn ask(door: &Door, delivery: Delivery) -> Answer {
    door.post(&body(delivery)).await
}

/// Everything up to the connection's end.
async fn bytes(door: &Door, delivery: Delivery) -> String {
    let head = "POST /v1/messages HTTP/1.1";
    door.send(head, &body(delivery)).await.rest().await
}

#[tokio::test]
async fn statuses_come_in_their_shape() {
    for (step, status, kind) in [
        ("{ status = 401 }", 401, "authentication_error"),
        ("{ fail = \"auth_failed\" }", 401, "authentication_error"),
        ("{ fail = \"budget_exhausted\" }", 402, "billing_error"),
        ("{ status = 403 }", 403, "permission_error"),
        ("{ status = 429 }", 429, "rate_limit_error"),
        ("{ status = 500 }", 500, "api_error"),
        ("{ status = 529 }", 529, "overloaded_error"),
        ("{ fail = \"overloaded\" }", 529, "overloaded_error"),
        ("{ fail = \"config\" }", 400, "invalid_request_error"),
        ("{ wait = \"1ms\" }, { status = 500 }", 500, "api_error"),
    ] {
        for delivery in [STREAM, DOCUMENT] {
            let answer = ask(&door(step), delivery).await;
            assert_eq!(answer.status, status, "{step}");
            assert_eq!(answer.error(), kind, "{step}");
            assert!(!answer.head.contains("retry-after"), "{step}");
        }
    }
}

#[tokio::test]
async fn a_rate_limit_names_its_time_in_whole_seconds() {
    for (time, header) in [("3s", "3"), ("1500ms", "2"), ("1m", "60")] {
        let door = door(&format!(
            "{{ fail = \"rate_limited\", retry_after = \"{time}\" }}"
        ));
        let answer = ask(&door, STREAM).await;
        assert_eq!(answer.status, 429);
        assert!(
            answer.head.contains(&format!("retry-after: {header}\r\n")),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_prompt_can_be_too_long() {
    let answer = ask(&door("{ fail = \"context_full\" }"), STREAM).await;
    assert_eq!(
        (answer.status, answer.error().as_str()),
        (400, "invalid_request_error")
    );
    assert!(answer.body.contains("prompt is too long"), "{answer:?}");
}

#[tokio::test]
async fn a_status_after_a_text_is_an_event() {
    let steps = "{ say = \"so far\" }, { status = 529 }";
    let answer = ask(&door(steps), STREAM).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("so far"), "{answer:?}");
    let (_, last) = answer.body.rsplit_once("event: ").unwrap();
    assert!(
        last.starts_with("error\n") && last.contains("overloaded_error"),
        "{last}"
    );
    assert_eq!(ask(&door(steps), DOCUMENT).await.status, 529);
}

#[tokio::test]
async fn connections_are_cut() {
    let drop = door("{ say = \"so far\" }, { drop = true }");
    let cut = bytes(&drop, STREAM).await;
    assert!(cut.contains("so far"), "{cut}");
    assert!(
        !cut.contains("message_stop") && !cut.ends_with("0\r\n\r\n"),
        "{cut}"
    );
    assert_eq!(bytes(&drop, DOCUMENT).await, "");
    let network = door("{ fail = \"network\" }");
    assert_eq!(bytes(&network, STREAM).await, "");
}

#[tokio::test]
async fn a_stall_is_silent_and_then_cut() {
    let started = std::time::Instant::now();
    let stalled = bytes(&door("{ stall = \"300ms\" }"), STREAM).await;
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(stalled.contains("message_start"), "{stalled}");
    assert!(
        !stalled.contains("content_block") && !stalled.ends_with("0\r\n\r\n"),
        "{stalled}"
    );
}

#[tokio::test]
async fn a_wait_comes_in_its_place() {
    let door = door("{ say = \"one\" }, { wait = \"300ms\" }, { say = \"two\" }");
    let head = "POST /v1/messages HTTP/1.1";
    let mut client = door.send(head, &body(STREAM)).await;
    client.until("one").await;
    let heard = std::time::Instant::now();
    client.until("two").await;
    assert!(heard.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn an_answer_can_stop_early() {
    let steps = "{ say = \"so far\" }, { max_tokens = true }, { say = \"and on\" }";
    let door_of_limit = door(steps);
    let first = ask(&door_of_limit, DOCUMENT).await.json();
    assert_eq!(first["stop_reason"], "max_tokens");
    let second = ask(&door_of_limit, DOCUMENT).await.json();
    assert_eq!(second["stop_reason"], "end_turn");
    assert_eq!(second["content"][1]["text"], "and on");
    let refused = ask(&door("{ fail = \"refused\" }"), DOCUMENT).await.json();
    assert_eq!(refused["stop_reason"], "refusal");
}

#[tokio::test]
async fn a_fault_with_times_passes() {
    let door = door("{ status = 529, times = 2 }, { say = \"well\" }");
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ask(&door, STREAM).await.status);
    }
    assert_eq!(statuses, [529, 529, 200]);
}

#[tokio::test]
async fn a_crash_ends_a_process() {
    let tool = |answer: Answer| answer.json()["content"][0]["input"]["command"].clone();
    let engine = tool(ask(&door("{ crash = \"engine\" }"), DOCUMENT).await);
    assert_eq!(engine, "kill -9 $PPID");
    let harness = tool(ask(&door("{ crash = \"harness\" }"), DOCUMENT).await);
    assert!(
        harness.as_str().unwrap().contains("/proc/$PPID/stat"),
        "{harness}"
    );
}

#[tokio::test]
async fn it_also_stands_alone_behind_the_gateway() {
    let script = "[[rule]]\nagent = \"cook\"\nsteps = [{ say = \"cook\" }]\n\
                  [[rule]]\nsteps = [{ say = \"nobody\" }]";
    let scripted =
        Scripted::new(Script::parse(script).unwrap()).requiring(crate::gateway::kit::KEY);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stopping = CancellationToken::new();
    let served = serve_standalone(Arc::new(scripted), listener, stopping.clone());
    let client = async {
        let door = Door::to(&format!("http://{address}"));
        let said = ask(&door, DOCUMENT).await.json();
        assert_eq!(said["content"][0]["text"], "nobody");

        let mut plain = crate::gateway::kit::Wire::tcp(address).await;
        plain
            .write(&request("POST /v1/messages HTTP/1.1", &body(DOCUMENT)))
            .await;
        assert_eq!(plain.answer().await.status, 401);

        let key = crate::gateway::kit::KEY;
        let mut named = crate::gateway::kit::Wire::tcp(address).await;
        let head = format!("POST /v1/messages HTTP/1.1\nx-hive-agent: cook\nx-api-key: {key}");
        named.write(&request(&head, &body(DOCUMENT))).await;
        assert_eq!(named.answer().await.json()["content"][0]["text"], "cook");
        stopping.cancel();
    };
    tokio::join!(served, client);
}

#[tokio::test]
async fn its_command_prints_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.toml");
    std::fs::write(&script, "[[rule]]\nsteps = [{ say = \"well\" }]").unwrap();
    let standalone = |script: &std::path::Path| Standalone {
        listen: "127.0.0.1:0".parse().unwrap(),
        script: script.to_owned(),
        key: None,
    };
    let (stopping, mut out) = (CancellationToken::new(), Vec::new());
    stopping.cancel();
    let run = standalone(&script).run(&mut out, stopping.clone()).await;
    assert!(run.is_ok());
    let line = String::from_utf8(out).unwrap();
    assert!(
        line.starts_with("http://127.0.0.1:") && line.ends_with('\n'),
        "{line:?}"
    );

    std::fs::write(&script, "[[rule]]\nform = 1").unwrap();
    let run = standalone(&script).run(&mut Vec::new(), stopping).await;
    let why = run.unwrap_err().to_string();
    assert!(why.contains("line 2: `form` is not known here"), "{why}");
}
