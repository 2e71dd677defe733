//! What one agent can make the gateway hold.

use std::time::Duration;

use hived::gateway::{KeyHeader, Limits};

use crate::gateway::kit::{Door, Upstream, soon};

fn door(upstream: &Upstream, limits: Limits) -> Door {
    Door::with(&upstream.url, KeyHeader::ApiKey, limits)
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut() {
    let upstream = Upstream::open().await;
    let limits = Limits {
        head_time: Duration::from_millis(200),
        ..Limits::default()
    };
    let door = door(&upstream, limits);
    let mut client = door.connect().await;
    client
        .write("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-a")
        .await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn a_body_that_stops_coming_is_cut() {
    let upstream = Upstream::open().await;
    let limits = Limits {
        body_pause: Duration::from_millis(200),
        ..Limits::default()
    };
    let door = door(&upstream, limits);
    let mut client = door.connect().await;
    client
        .write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        .await;
    let (mut wire, _) = upstream.take().await;
    wire.rest().await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.status, answer.error().as_str()),
        (408, "invalid_request_error")
    );
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let upstream = Upstream::open().await;
    let limits = Limits {
        body_bytes: 1000,
        ..Limits::default()
    };
    let door = door(&upstream, limits);

    let answer = door.post(&"x".repeat(1001)).await;
    assert_eq!(
        (answer.status, answer.error().as_str()),
        (413, "request_too_large")
    );
    assert!(upstream.untouched().await);

    let mut client = door.connect().await;
    client
        .write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    let chunk = format!("{:x}\r\n{}\r\n", 600, "x".repeat(600));
    client.write(&chunk).await;
    let (mut wire, _) = upstream.take().await;
    wire.until(&"x".repeat(600)).await;
    client.write(&chunk).await;
    // The rest of the body never reaches the upstream, so it cannot take the request for whole.
    assert!(!wire.rest().await.contains('x'));
    let answer = client.answer().await;
    assert_eq!(
        (answer.status, answer.error().as_str()),
        (413, "request_too_large")
    );
}

#[tokio::test]
async fn headers_have_a_bound() {
    let upstream = Upstream::open().await;
    let door = door(&upstream, Limits::default());
    let many: String = (0..101).map(|n| format!("\nx-{n}: 1")).collect();
    let long = format!("\nx-long: {}", "x".repeat(512 * 1024));
    for headers in [many, long] {
        let mut client = door.connect().await;
        let head = format!("POST /v1/messages HTTP/1.1{headers}\n\n").replace('\n', "\r\n");
        // The gateway may hang up before all of it is written.
        let _ = client.try_write(&head).await;
        let answer = client.rest().await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 431 "),
            "{answer:?}"
        );
    }
    assert!(upstream.untouched().await);
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let upstream = Upstream::open().await;
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let door = door(&upstream, limits);
    let mut held = Vec::new();
    for _ in 0..2 {
        let client = door.send("POST /v1/messages HTTP/1.1", "{}").await;
        held.push((client, upstream.take().await));
    }
    let mut third = door.send("GET / HTTP/1.1", "").await;
    // Nothing comes while both slots are taken; a call that ends frees one.
    let early = tokio::time::timeout(Duration::from_millis(200), third.until("HTTP/1.1")).await;
    assert!(early.is_err(), "the third connection was served");
    drop(held.pop());
    assert_eq!(third.answer().await.status, 404);
}

#[tokio::test]
async fn a_stop_lets_the_running_call_end() {
    let upstream = Upstream::open().await;
    let door = door(&upstream, Limits::default());
    let mut client = door.send("POST /v1/messages HTTP/1.1", "{}").await;
    let (mut wire, _) = upstream.take().await;
    wire.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n")
        .await;
    client.until("hello").await;
    door.tasks.stop();
    // The listener is gone at once, the call is not.
    soon("the socket to be closed", async {
        while tokio::net::UnixStream::connect(door.socket()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    wire.write("5\r\nworld\r\n0\r\n\r\n").await;
    client.until("world").await;
    let end = soon(
        "the drain",
        door.tasks
            .drain(hived::shutdown::GRACE, std::future::pending()),
    )
    .await;
    assert_eq!(end, hived::shutdown::End::Drained);
}
