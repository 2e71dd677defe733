//! What passes the gateway, and what does not.

use hived::gateway::{KeyHeader, Limits};
use serde_json::json;

use crate::gateway::kit::{Door, FAKE, KEY, Upstream};

const BODY: &str = r#"{"model":"claude-haiku-5-5","messages":[],"stream":true}"#;

#[tokio::test]
async fn a_stream_passes_untouched_and_at_once() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let mut client = door
        .send("POST /v1/messages?beta=true HTTP/1.1", BODY)
        .await;
    let (mut wire, _) = upstream.take().await;
    assert_eq!(wire.until("true}").await, BODY);

    wire.write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    client.until("\r\n\r\n").await;
    // Odd pieces: half a line, a CRLF, bytes that are no UTF-8 on their own. Each one arrives before
    // the next one is sent.
    let pieces = [
        "event: mess",
        "age_start\r\ndata: {\"a\"",
        ":1}\n\n",
        "\n",
        "data: ü",
    ];
    for piece in pieces {
        wire.write(&format!("{:x}\r\n{piece}\r\n", piece.len()))
            .await;
        let seen = client
            .until(&format!("{:X}\r\n{piece}\r\n", piece.len()))
            .await;
        assert_eq!(seen, format!("{:X}\r\n{piece}\r\n", piece.len()));
    }
    wire.write("0\r\n\r\n").await;
    assert!(client.rest().await.ends_with("0\r\n\r\n"));
}

#[tokio::test]
async fn a_request_passes_while_it_is_still_sent() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let mut client = door.connect().await;
    client
        .write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 11\r\n\r\nfirst ")
        .await;
    let (mut wire, head) = upstream.take().await;
    assert!(head.contains("content-length: 11\r\n"), "{head}");
    wire.until("first ").await;
    client.write("later").await;
    wire.until("later").await;
}

#[tokio::test]
async fn the_key_is_added_and_the_agents_own_stays() {
    let upstream = Upstream::open().await;
    let head = format!(
        "POST /v1/messages?beta=true HTTP/1.1\nx-api-key: {FAKE}\nauthorization: Bearer {FAKE}\n\
         proxy-authorization: Basic {FAKE}\ncookie: s={FAKE}\nx-forwarded-for: {FAKE}\n\
         anthropic-version: 2023-06-01\nanthropic-beta: one,two\nuser-agent: claude-code/2\n\
         accept-encoding: gzip, br\nte: trailers"
    );
    for (header, line) in [
        (KeyHeader::ApiKey, format!("x-api-key: {KEY}\r\n")),
        (
            KeyHeader::Bearer,
            format!("authorization: Bearer {KEY}\r\n"),
        ),
    ] {
        let url = format!("{}/anthropic/", upstream.url);
        let door = Door::with(&url, header, Limits::default());
        let _client = door.send(&head, BODY).await;
        let (_wire, seen) = upstream.take().await;
        assert!(
            seen.starts_with("POST /anthropic/v1/messages?beta=true HTTP/1.1\r\n"),
            "{seen}"
        );
        assert!(seen.contains(&line), "{seen}");
        assert_eq!(seen.matches(KEY).count(), 1, "{seen}");
        assert!(!seen.contains(FAKE), "{seen}");
        for kept in [
            "anthropic-version: 2023-06-01\r\n",
            "anthropic-beta: one,two\r\n",
            "user-agent: claude-code/2\r\n",
            "accept-encoding: identity\r\n",
        ] {
            assert!(seen.contains(kept), "{seen}");
        }
        for gone in ["gzip", "te: trailers", "host: hive", "connection: close"] {
            assert!(!seen.contains(gone), "{gone} in {seen}");
        }
    }
}

#[tokio::test]
async fn an_answer_keeps_its_status_and_headers() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let mut client = door.send("POST /v1/messages HTTP/1.1", BODY).await;
    let (mut wire, _) = upstream.take().await;
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    wire.write(&format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 3\r\n\
         request-id: req_1\r\nset-cookie: a=b\r\nkeep-alive: timeout=5\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
    .await;
    let answer = client.answer().await;
    // Told in words as well, for engines that pass on no header; nothing else of it is changed.
    let told = body.replace("slow down", "slow down (retry after 3 seconds)");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!((answer.status, json(&answer.body)), (429, json(&told)));
    for kept in [
        "retry-after: 3",
        "request-id: req_1",
        "content-type: application/json",
    ] {
        assert!(answer.head.contains(kept), "{answer:?}");
    }
    for gone in ["set-cookie", "keep-alive"] {
        assert!(!answer.head.contains(gone), "{answer:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (upstream, elsewhere) = (Upstream::open().await, Upstream::open().await);
    let door = Door::to(&upstream.url);
    let mut client = door.send("POST /v1/messages HTTP/1.1", BODY).await;
    let (mut wire, _) = upstream.take().await;
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}/v1/messages\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url
    );
    wire.write(&answer).await;
    assert_eq!(client.answer().await.status, 307);
    assert!(elsewhere.untouched().await);
}

#[tokio::test]
async fn only_model_calls_pass() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    for (head, status, kind) in [
        ("GET / HTTP/1.1", 404, "not_found_error"),
        ("POST /v1/messages/batches HTTP/1.1", 404, "not_found_error"),
        ("POST /v1/files HTTP/1.1", 404, "not_found_error"),
        ("DELETE /v1/models/x HTTP/1.1", 404, "not_found_error"),
        ("CONNECT example.org:443 HTTP/1.1", 403, "permission_error"),
        (
            "GET http://example.org/v1/models HTTP/1.1",
            403,
            "permission_error",
        ),
    ] {
        let answer = door.ask(head, "").await;
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.error(), kind, "{head}");
    }
    assert!(upstream.untouched().await);
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_said() {
    let upstream = Upstream::open().await;
    let url = upstream.url.clone();
    drop(upstream);
    let answer = Door::to(&url).post(BODY).await;
    assert_eq!(answer.status, 502);
    assert_eq!(
        answer.json(),
        json!({ "type": "error", "error": {
            "type": "api_error", "message": "the model's server cannot be reached",
        }})
    );
}

#[tokio::test]
async fn an_upstream_that_goes_away_cuts_the_answer() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);
    let mut client = door.send("POST /v1/messages HTTP/1.1", BODY).await;
    let (mut wire, _) = upstream.take().await;
    wire.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        .await;
    client.until("hello").await;
    drop(wire);
    // No last chunk: the client sees that it was cut.
    assert_eq!(client.rest().await, "\r\n");
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_call() {
    let upstream = Upstream::open().await;
    let door = Door::to(&upstream.url);

    let client = door.send("POST /v1/messages HTTP/1.1", BODY).await;
    let (mut before, _) = upstream.take().await;
    before.until(BODY).await;
    drop(client);
    assert_eq!(before.rest().await, "", "before the answer");

    let mut client = door.send("POST /v1/messages HTTP/1.1", BODY).await;
    let (mut within, _) = upstream.take().await;
    within.until(BODY).await;
    within
        .write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        .await;
    client.until("hello").await;
    drop(client);
    assert_eq!(within.rest().await, "", "within the answer");
}
