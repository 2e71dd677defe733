//! `mcp.sock`: one line of JSON wakes the agent.

use std::path::PathBuf;

use hive_proto::ids::AgentId;
use hive_proto::limits::BODY_BYTES;
use hived::bind::{Owner, bind};
use hived::inbox::Recipient;
use hived::wake_line;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use crate::kit::Core;

struct Line {
    core: Core,
    agent: AgentId,
    path: PathBuf,
}

async fn served() -> Line {
    let core = Core::new();
    let agent = core.agent("bee").await;
    let path = core.dir.path().join("mcp.sock");
    let listener = bind(&path, 0o600, Owner::Own).unwrap();
    let (inbox, until) = (core.inbox.clone(), core.tasks.stopping());
    core.tasks.spawn("wake", async move {
        wake_line::serve(inbox, agent, listener, until).await;
    });
    Line { core, agent, path }
}

impl Line {
    async fn connect(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(&self.path).await.unwrap())
    }

    async fn bodies(&self) -> Vec<(String, String)> {
        self.core.mail(Recipient::Agent(self.agent)).await
    }
}

async fn ask(stream: &mut BufReader<UnixStream>, line: &str) -> Value {
    stream.write_all(line.as_bytes()).await.unwrap();
    stream.write_all(b"\n").await.unwrap();
    answer(stream).await
}

async fn answer(stream: &mut BufReader<UnixStream>) -> Value {
    let mut text = String::new();
    stream.read_line(&mut text).await.unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

async fn is_over(stream: &mut BufReader<UnixStream>) -> bool {
    let mut text = String::new();
    matches!(stream.read_line(&mut text).await, Ok(0) | Err(_))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_lines_on_one_connection_each_get_their_answer() {
    let line = served().await;
    let mut stream = line.connect().await;
    let first = ask(
        &mut stream,
        r#"{"cmd":"wake","from":"cron","body":"tick","key":"k"}"#,
    )
    .await;
    assert_eq!(first["ok"], json!(true));
    let again = ask(
        &mut stream,
        r#"{"cmd":"wake","from":"cron","body":"tick","key":"k"}"#,
    )
    .await;
    assert_eq!(again["id"], first["id"]);
    assert_eq!(again["duplicate"], json!(true));
    let reserved = ask(
        &mut stream,
        r#"{"cmd":"wake","from":"operator","body":"x"}"#,
    )
    .await;
    assert_eq!(reserved["ok"], json!(false));
    assert_eq!(reserved["reason"], json!("reserved_name"));
    let other = ask(&mut stream, r#"{"cmd":"wake","from":"mail","body":"post"}"#).await;
    assert_eq!(other["ok"], json!(true));
    let expected =
        [("cron", "tick"), ("mail", "post")].map(|(from, body)| (from.to_owned(), body.to_owned()));
    assert_eq!(line.bodies().await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_line_of_ours_is_answered_and_ends_the_connection() {
    let line = served().await;
    for wrong in [
        "nonsense",
        "{}",
        r#"{"cmd":"stop"}"#,
        r#"{"cmd":"wake","from":"cron"}"#,
        r#"{"cmd":"wake","from":"cron","body":"x","agent":"wasp"}"#,
        "",
    ] {
        let mut stream = line.connect().await;
        let answer = ask(&mut stream, wrong).await;
        assert_eq!(answer["reason"], json!("invalid_argument"), "{wrong:?}");
        assert!(is_over(&mut stream).await, "{wrong:?} did not end it");
    }
    assert!(line.bodies().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_body_is_taken_however_it_is_written_and_a_longer_line_is_not() {
    let line = served().await;
    let mut stream = line.connect().await;
    let body = r"\u0001".repeat(BODY_BYTES);
    let longest = format!(r#"{{"cmd":"wake","from":"cron","body":"{body}"}}"#);
    assert_eq!(ask(&mut stream, &longest).await["ok"], json!(true));

    let over = format!(
        r#"{{"cmd":"wake","from":"cron","body":"{}"}}"#,
        "x".repeat(BODY_BYTES + 1)
    );
    let refused = ask(&mut stream, &over).await;
    assert_eq!(refused["reason"], json!("body_too_large"));

    // A line without an end: cut off at the bound, not kept.
    let mut endless = line.connect().await;
    let piece = vec![b'x'; 1024 * 1024];
    let mut written = 0;
    while written < 64 && endless.write_all(&piece).await.is_ok() {
        written += 1;
    }
    assert!(written < 64, "64 MiB of one line were taken");
    assert_eq!(line.bodies().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_the_client_did_not_stay_for_still_counts() {
    let line = served().await;
    let mut stream = line.connect().await;
    let wake = b"{\"cmd\":\"wake\",\"from\":\"cron\",\"body\":\"tick\"}";
    stream.write_all(wake).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(answer(&mut stream).await["ok"], json!(true));
    assert_eq!(line.bodies().await.len(), 1);
}
