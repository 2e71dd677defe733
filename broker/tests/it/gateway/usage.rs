//! What is reported of a call.

use futures::StreamExt;
use hive_proto::ids::{AgentId, EventSeq, UnixMs};
use hived::clock::Clock;
use hived::events::{Events, Since};
use hived::gateway::{Ended, ModelCall, Tokens, recorder};
use hived::shutdown::{GRACE, Tasks};
use hived::store::Store;
use serde_json::json;

use crate::gateway::kit::{Door, Upstream, soon};

const STREAM: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"model":"claude-haiku-5-5","usage":{"input_tokens":10,"cache_read_input_tokens":300,"cache_creation_input_tokens":20,"output_tokens":1}}}"#,
    "\n\nevent: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}"#,
    "\n\n",
);

/// The one call that was reported, without its time.
async fn reported(door: &Door) -> ModelCall {
    soon("a report", async {
        loop {
            if let Some(call) = door.calls.lock().unwrap().pop() {
                assert!(call.at.0 > 1_700_000_000_000, "{call:?}");
                return call;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_stream_is_counted_at_its_end() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let mut client = door.send("POST /v1/messages HTTP/1.1", "{}").await;
    let (mut wire, _) = upstream.take().await;
    wire.write(&format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{STREAM}\r\n0\r\n\r\n",
        STREAM.len()
    ))
    .await;
    assert_eq!(client.answer().await.body, STREAM);
    let call = reported(&door).await;
    assert_eq!(
        call,
        ModelCall {
            agent: AgentId(7),
            model: "claude-haiku-5-5".to_owned(),
            tokens: Tokens {
                input: 10,
                output: 50,
                cache_read: 300,
                cache_write: 20,
            },
            status: 200,
            ended: Ended::Whole,
            at: call.at,
        }
    );
    assert!(door.calls.lock().unwrap().is_empty(), "reported twice");
}

#[tokio::test]
async fn a_call_that_breaks_off_is_counted_as_far_as_it_came() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    for ended in [Ended::CutByUpstream, Ended::CutByAgent] {
        let mut client = door.send("POST /v1/messages HTTP/1.1", "{}").await;
        let (mut wire, _) = upstream.take().await;
        let half = STREAM.split_inclusive("\n\n").next().unwrap();
        wire.write(&format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\
             \r\n\r\n{:x}\r\n{half}\r\n",
            half.len()
        ))
        .await;
        client.until("\n\n").await;
        let (mut client, mut wire) = (Some(client), Some(wire));
        match ended {
            Ended::CutByUpstream => drop(wire.take()),
            Ended::Whole | Ended::CutByAgent => drop(client.take()),
        }
        let call = reported(&door).await;
        assert_eq!((call.ended, call.tokens.input), (ended, 10));
    }
}

#[tokio::test]
async fn errors_are_reported_without_tokens() {
    let door = Door::with_credential("http://127.0.0.1:9", None);
    assert_eq!(door.post("{}").await.status, 401);
    let call = reported(&door).await;
    assert_eq!((call.status, call.tokens), (401, Tokens::default()));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_recorded_as_events() {
    let home = tempfile::tempdir().unwrap();
    let (clock, tasks) = (Clock::system(), Tasks::default());
    let store = Store::open(home.path(), clock, tasks.clone()).unwrap();
    let sink = recorder(store.clone(), &tasks);
    let mut watch = Events::new(store, tasks.clone())
        .watch(Since::After(EventSeq(0)), String::new())
        .await
        .unwrap();
    let tokens = Tokens {
        input: 1,
        output: 2,
        cache_read: 3,
        cache_write: 4,
    };
    sink(ModelCall {
        agent: AgentId(7),
        model: "m".to_owned(),
        tokens,
        status: 200,
        ended: Ended::CutByAgent,
        at: UnixMs(5),
    });
    let event = soon("the event", watch.next()).await.unwrap().unwrap();
    assert_eq!(event.kind, "model.call");
    let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
    assert_eq!(
        data,
        json!({
            "model": "m", "status": 200, "ended": "cut_by_agent", "began_at_ms": 5,
            "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4,
        })
    );
    tasks.drain(GRACE, std::future::pending()).await;
}
