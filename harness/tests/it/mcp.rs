//! The MCP endpoint as an engine sees it: HTTP over loopback, and the stdio bridge.

use std::process::Stdio;

use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use hive::rundir::{self, Published};
use hive_proto::v1::{DirectiveKind, HarnessState, ToolGroup, ToolRule};

use crate::fake::SOON;
use crate::harness::Served;

/// A harness whose only message keeps its turn open until the file `go` appears.
async fn with_open_turn() -> (Served, Published) {
    let served = Served::start(
        "[[rule]]\nfrom = \"operator\"\nsteps = [{ shell = \"while ! [ -e go ]; do sleep 0.1; done\" }]",
    );
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    let published = rundir::read(&served.run_dir()).unwrap();
    (served, published)
}

struct Answer {
    status: u16,
    text: String,
}

// === impl Answer ===

impl Answer {
    /// The messages of an answer in either form.
    fn messages(&self) -> Vec<Value> {
        if self.text.starts_with('{') {
            return vec![serde_json::from_str(&self.text).unwrap()];
        }
        let data = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        data.filter(|data| !data.trim().is_empty())
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    fn result(&self) -> Value {
        let messages = self.messages();
        messages.last().unwrap_or(&Value::Null)["result"].clone()
    }
}

/// One request in the stateless form of 2026-07-28, as claude makes it.
async fn ask(
    published: &Published,
    method: &str,
    mut params: Value,
    headers: &[(&str, &str)],
) -> Answer {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let bearer = format!("Bearer {}", published.mcp_token);
    let mut request = hyper::Request::post(&published.mcp_url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    if !headers.iter().any(|(name, _)| *name == "authorization") {
        request = request.header("authorization", bearer);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::<bytes::Bytes>::from(body.to_string()))
        .unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Answer {
        status,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

fn call(name: &str, arguments: Value) -> Value {
    json!({
        "name": name,
        "arguments": arguments,
        "_meta": {"claudecode/toolUseId": "toolu_1", "progressToken": 5},
    })
}

#[tokio::test]
async fn an_engine_discovers_lists_and_calls() {
    let (served, published) = with_open_turn().await;
    let discovered = ask(&published, "server/discover", json!({}), &[]).await;
    assert_eq!(discovered.status, 200, "{}", discovered.text);
    assert!(
        discovered.result()["capabilities"]["tools"].is_object(),
        "{}",
        discovered.text
    );
    let listed = ask(&published, "tools/list", json!({}), &[]).await.result();
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "send",
            "recv",
            "get_agent_meta",
            "set_status",
            "request_next_turn",
            "ask",
            "answer",
            "get_loose_ends",
            "cancel_loose_end",
            "remind"
        ]
    );

    let send = call(
        "send",
        json!({"to": "alice", "body": "hi", "in_reply_to": 0}),
    );
    let sent = ask(&published, "tools/call", send, &[]).await.result();
    assert_eq!(sent["isError"], false, "{sent}");
    let text = sent["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["id"], 101);
    let send = served.fake.record().sends[0].clone();
    assert_eq!(
        (send.idempotency_key.as_str(), send.in_reply_to),
        ("m1:toolu_1", Some(0))
    );
}

#[tokio::test]
async fn refusals_and_wrong_arguments_are_texts_for_the_model() {
    let (_served, published) = with_open_turn().await;
    for (call, says) in [
        (
            call("send", json!({"to": "nobody", "body": "x"})),
            "unknown_agent: there is no agent nobody (hint: ",
        ),
        (call("send", json!({"to": "alice"})), "missing field `body`"),
        (
            call("send", json!({"to": "alice", "body": "x", "urgent": true})),
            "unknown field `urgent`",
        ),
        (call("fly", json!({})), "there is no tool"),
    ] {
        let answer = ask(&published, "tools/call", call, &[]).await;
        let result = answer.result();
        assert_eq!(result["isError"], true, "{}", answer.text);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(says), "{text}");
    }
}

#[tokio::test]
async fn a_long_call_gives_signs_of_life() {
    let (served, published) = with_open_turn().await;
    let asking = ask(
        &published,
        "tools/call",
        call("recv", json!({"wait_seconds": 2})),
        &[],
    );
    let answer = asking.await;
    let messages = answer.messages();
    assert_eq!(
        messages[0]["method"], "notifications/progress",
        "{}",
        answer.text
    );
    assert_eq!(messages[0]["params"]["progressToken"], 5);
    let text = answer.result()["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(text, r#"{"messages":[],"remaining":0}"#);
    std::fs::write(served.state_dir().join("go"), "").unwrap();
    assert_eq!(served.fake.end(1).await.held, [1]);
}

#[tokio::test]
async fn a_tool_that_the_agent_lost_is_neither_listed_nor_run() {
    let (served, published) = with_open_turn().await;
    let names = async || -> Vec<String> {
        let listed = ask(&published, "tools/list", json!({}), &[]).await.result();
        let tools = listed["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names().await.contains(&"ask".to_owned()));
    served.fake.record().tools = Some(ToolRule {
        all: false,
        only: vec![ToolGroup::Reminders.into()],
    });
    served.fake.direct(DirectiveKind::Renew, 0).await;
    let renewed = async { while names().await.contains(&"ask".to_owned()) {} };
    tokio::time::timeout(SOON, renewed).await.unwrap();
    let always = [
        "send",
        "recv",
        "get_agent_meta",
        "set_status",
        "request_next_turn",
    ];
    let mut expected: Vec<&str> = always.to_vec();
    expected.push("remind");
    assert_eq!(names().await, expected);
    let asked = call("ask", json!({"question": "May I?"}));
    let refused = ask(&published, "tools/call", asked, &[]).await.result();
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("not_permitted:"), "{text}");

    // The bridge asks the harness.
    let mut bridge = Bridge::start(&served);
    bridge
        .say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        .await;
    let listed = bridge.hear().await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let bridged: Vec<_> = tools.iter().map(|tool| tool["name"].as_str()).collect();
    assert_eq!(bridged, expected.into_iter().map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let (_served, published) = with_open_turn().await;
    let list = |headers| {
        let published = published.clone();
        async move {
            ask(&published, "tools/list", json!({}), headers)
                .await
                .status
        }
    };
    assert_eq!(list(&[]).await, 200);
    assert_eq!(list(&[("authorization", "Bearer wrong")]).await, 401);
    assert_eq!(list(&[("authorization", "")]).await, 401);
    assert_eq!(list(&[("origin", "http://evil.example")]).await, 403);
    assert_eq!(list(&[("host", "evil.example")]).await, 403);
}

/// `hive mcp` beside the harness.
struct Bridge {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    greeted: bool,
    _process: Child,
}

// === impl Bridge ===

impl Bridge {
    fn start(served: &Served) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hive"))
            .arg("mcp")
            .env("HIVE_RUN_DIR", served.run_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            stdin: process.stdin.take().unwrap(),
            lines: BufReader::new(process.stdout.take().unwrap()).lines(),
            greeted: false,
            _process: process,
        }
    }

    /// Says it, after the greeting if that is due.
    async fn say(&mut self, message: Value) {
        if !std::mem::replace(&mut self.greeted, true) {
            self.write(
                json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"}}}),
            )
            .await;
            assert_eq!(self.hear().await["result"]["serverInfo"]["name"], "hive");
            self.write(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
        }
        self.write(message).await;
    }

    async fn write(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[tokio::test]
async fn the_stdio_bridge_reaches_the_same_turn() {
    let (served, _) = with_open_turn().await;
    let mut bridge = Bridge::start(&served);
    bridge
        .say(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "request_next_turn", "arguments": {}}}))
        .await;
    let answer = bridge.hear().await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    std::fs::write(served.state_dir().join("go"), "").unwrap();
    assert!(served.fake.end(1).await.continue_requested);
}
