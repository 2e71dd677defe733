//! The listen address: health, one page, and bounds for whoever connects.

use std::net::SocketAddr;
use std::time::Duration;

use hived::health::Health;
use hived::web;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::Core;

async fn served(core: &Core) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let health = Health::new(core.store.clone(), core.tasks.clone());
    let router = web::router(address, health);
    let until = core.tasks.stopping();
    core.tasks.spawn("web", web::serve(listener, router, until));
    address
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_the_page_are_served_guarded() {
    let core = Core::new();
    let address = served(&core).await;
    let host = address.to_string();
    let health = ask(address, &get("/healthz", &host)).await;
    assert!(health.starts_with("HTTP/1.1 200 "), "{health}");
    let page = ask(address, &get("/", &format!("localhost:{}", address.port()))).await;
    assert!(page.contains("dashboard does not exist yet"), "{page}");
    for header in [
        "x-content-type-options: nosniff",
        "content-security-policy: default-src 'none'",
        "x-frame-options: DENY",
    ] {
        assert!(page.contains(header), "no {header} in {page}");
    }
    let missing = ask(address, &get("/api", &host)).await;
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sites_name_is_refused() {
    let core = Core::new();
    let address = served(&core).await;
    let port = address.port();
    let own = address.to_string();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1"] {
        let answer = ask(address, &get("/", host)).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
        assert!(!answer.contains("dashboard"), "{host}: {answer}");
    }
    let twice =
        format!("GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    let answer = ask(address, &twice).await;
    assert!(!answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_never_ends_is_not_waited_for() {
    let core = Core::new();
    let address = served(&core).await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HT").await.unwrap();
        slow.push(stream);
    }
    let own = address.to_string();
    let answer = ask(address, &get("/healthz", &own)).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let mut rest = Vec::new();
    let closed = async {
        for stream in &mut slow {
            // An answer or none: what matters is that the connection ends.
            let _ = stream.read_to_end(&mut rest).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_that_it_stops() {
    let core = Core::new();
    let health = Health::new(core.store.clone(), core.tasks.clone());
    assert_eq!(health.fault(), None);
    core.tasks.stop();
    assert_eq!(health.fault().as_deref(), Some("stopping"));
}
