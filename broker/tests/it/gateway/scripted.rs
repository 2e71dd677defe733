//! The scripted upstream as an engine meets it: a conversation that it plays step by step.

use serde_json::{Value, json};

use crate::gateway::kit::Door;

/// A conversation as an engine keeps it.
struct Talk {
    messages: Vec<Value>,
}

/// One answer: its texts, its tool call, why it stopped.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    tool: Option<(String, String, Value)>,
    stop: String,
}

// === impl Talk ===

impl Talk {
    fn begin() -> Self {
        Self {
            messages: vec![
                json!({ "role": "system", "content": "cwd: /state" }),
                json!({ "role": "user", "content": [
                    { "type": "text", "text": "<system-reminder>a note</system-reminder>" },
                ]}),
            ],
        }
    }

    fn prompt(&mut self, text: &str) {
        let block = json!({ "type": "text", "text": text });
        self.messages
            .push(json!({ "role": "user", "content": [block] }));
    }

    /// Asks, and takes the answer into the conversation.
    async fn ask(&mut self, door: &Door) -> Said {
        let body = json!({ "model": "m", "max_tokens": 9, "messages": self.messages });
        let answer = door.post(&body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let message = answer.json();
        assert_eq!(message["role"], "assistant");
        let content = message["content"].clone();
        self.messages
            .push(json!({ "role": "assistant", "content": content }));
        said(&message)
    }

    /// Gives the result of the last tool call.
    fn result(&mut self, said: &Said, content: Value) {
        let id = &said.tool.as_ref().unwrap().0;
        let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
        self.messages
            .push(json!({ "role": "user", "content": [block] }));
    }
}

fn said(message: &Value) -> Said {
    let blocks = message["content"].as_array().unwrap();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let tool = blocks.iter().find(|block| block["type"] == "tool_use");
    Said {
        text: texts.collect::<Vec<_>>().join("|"),
        tool: tool.map(|block| {
            let word = |key: &str| block[key].as_str().unwrap().to_owned();
            (word("id"), word("name"), block["input"].clone())
        }),
        stop: message["stop_reason"].as_str().unwrap().to_owned(),
    }
}

const STORY: &str = r#"
[[rule]]
agent = "cook"
body = 'plan a (\w+)'
steps = [
  { say = "For {{from}}." },
  { say = "I ask." },
  { tool = "recv", args = { wait_seconds = 5 }, save = "reply" },
  { shell = "echo {{reply.body}}", save = "echoed" },
  { tool = "Read", args = { file_path = "/state/{{1}}" } },
  { say = "{{reply.from}}/{{echoed}}/{{last}}" },
]
[[rule]]
agent = "scout"
steps = [{ say = "not for the cook" }]
[[rule]]
body = "quiet"
steps = [{ tool = "set_status", args = { text = "" } }]
"#;

/// What `recv` returns.
const RECEIVED: &str = r#"{"messages":[{"id":18,"from":"scout","body":"it's dry"}],"remaining":0}"#;

#[tokio::test]
async fn a_turn_is_played_step_by_step() {
    let door = Door::scripted(STORY);
    let mut talk = Talk::begin();
    talk.prompt("[message 17 from operator]\nplease plan a picnic");

    let first = talk.ask(&door).await;
    assert_eq!(first.text, "For operator.|I ask.");
    assert_eq!(first.stop, "tool_use");
    let (_, name, input) = first.tool.as_ref().unwrap();
    assert_eq!(
        (name.as_str(), input),
        ("mcp__hive__recv", &json!({ "wait_seconds": 5 }))
    );

    talk.result(&first, json!([{ "type": "text", "text": RECEIVED }]));
    let second = talk.ask(&door).await;
    let (_, name, input) = second.tool.as_ref().unwrap();
    assert_eq!(name, "Bash");
    assert_eq!(input["command"], r"echo 'it'\''s dry'");

    talk.result(&second, json!("it's dry"));
    let third = talk.ask(&door).await;
    let (_, name, input) = third.tool.as_ref().unwrap();
    assert_eq!(
        (name.as_str(), input),
        ("Read", &json!({ "file_path": "/state/picnic" }))
    );

    talk.result(&third, json!("three lines"));
    let last = talk.ask(&door).await;
    assert_eq!(last.text, "scout/it's dry/three lines");
    assert_eq!((last.tool, last.stop.as_str()), (None, "end_turn"));

    // The next message begins anew, in the same conversation.
    talk.prompt("[message 19 from scout]\nkeep quiet");
    let quiet = talk.ask(&door).await;
    assert_eq!(quiet.tool.as_ref().unwrap().1, "mcp__hive__set_status");
    talk.result(&quiet, json!("set"));
    assert_eq!(talk.ask(&door).await.text, "Done.");
    talk.prompt("[message 20 from operator]\nplan a party");
    assert_eq!(talk.ask(&door).await.text, "For operator.|I ask.");
    talk.prompt("what is this");
    let none = talk.ask(&door).await;
    assert_eq!(
        none.text,
        "No rule of the script answers this message from operator."
    );
}

#[tokio::test]
async fn what_an_engine_puts_in_does_not_begin_a_turn() {
    let door = Door::scripted(STORY);
    let mut talk = Talk::begin();
    talk.prompt("[message 17 from operator]\nplan a picnic");
    let first = talk.ask(&door).await;
    talk.result(&first, json!("nothing came"));
    talk.prompt("Your response above was cut off mid-stream. Resume it.");
    let second = talk.ask(&door).await;
    assert_eq!(second.tool.unwrap().1, "Bash");
}

#[tokio::test]
async fn a_stream_says_the_same_as_a_document() {
    let door = Door::scripted(STORY);
    let mut talk = Talk::begin();
    talk.prompt("[message 17 from operator]\nplan a picnic");
    let body = json!({ "model": "m", "stream": true, "messages": talk.messages });
    let answer = door.post(&body.to_string()).await;
    assert!(
        answer.head.contains("content-type: text/event-stream"),
        "{answer:?}"
    );

    let events: Vec<Value> = answer
        .body
        .split_terminator("\n\n")
        .map(|event| {
            let (kind, data) = event.split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(kind, format!("event: {}", data["type"].as_str().unwrap()));
            data
        })
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let block = [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ];
    let mut expected = vec!["message_start", "ping"];
    for _ in 0..3 {
        expected.extend(block);
    }
    expected.extend(["message_delta", "message_stop"]);
    assert_eq!(kinds, expected);

    let message = &events[0]["message"];
    assert_eq!(
        (&message["content"], &message["stop_reason"]),
        (&json!([]), &Value::Null)
    );
    assert!(message["usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(
        events[3]["delta"],
        json!({ "type": "text_delta", "text": "For operator." })
    );
    assert_eq!(events[8]["index"], 2);
    let tool = &events[8]["content_block"];
    assert_eq!(
        (&tool["type"], &tool["input"]),
        (&json!("tool_use"), &json!({}))
    );
    assert_eq!(
        events[9]["delta"],
        json!({ "type": "input_json_delta", "partial_json": "{\"wait_seconds\":5}" })
    );
    assert_eq!(events[11]["delta"]["stop_reason"], "tool_use");
    assert!(events[11]["usage"]["output_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn the_other_calls_are_answered() {
    let door = Door::scripted(STORY);
    let models = door.ask("GET /v1/models HTTP/1.1", "").await.json();
    assert_eq!(models["data"][0]["id"], "scripted");
    let count = door
        .ask(
            "POST /v1/messages/count_tokens HTTP/1.1",
            r#"{"messages":[]}"#,
        )
        .await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 0);
    let broken = door.post("{").await;
    assert_eq!(
        (broken.status, broken.error().as_str()),
        (400, "invalid_request_error")
    );
}
