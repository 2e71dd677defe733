//! Bytes through the forwarder, over real sockets.

use std::path::Path;

use hive::forwarder::Forwarder;
use hive::shutdown::{GRACE, Tasks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;

async fn forwarder(gateway: &Path) -> (std::net::SocketAddr, Tasks, CancellationToken) {
    let forwarder = Forwarder::bind(gateway.to_path_buf()).await.unwrap();
    let (address, tasks, until) = (
        forwarder.address(),
        Tasks::default(),
        CancellationToken::new(),
    );
    tasks.spawn("forwarder", forwarder.run(tasks.clone(), until.clone()));
    (address, tasks, until)
}

#[tokio::test]
async fn bytes_go_both_ways_and_each_end_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.sock");
    let gateway = UnixListener::bind(&path).unwrap();
    let (address, tasks, until) = forwarder(&path).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"hello \0\xff").await.unwrap();
    client.shutdown().await.unwrap();
    let (mut server, _) = gateway.accept().await.unwrap();
    let mut got = Vec::new();
    server.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"hello \0\xff");
    let large = vec![7_u8; 1 << 20];
    let (sent, received) = tokio::join!(
        async {
            server.write_all(&large).await.unwrap();
            server.shutdown().await.unwrap();
        },
        async {
            let mut got = Vec::new();
            client.read_to_end(&mut got).await.unwrap();
            got
        }
    );
    let () = sent;
    assert_eq!(received.len(), large.len());
    until.cancel();
    assert_eq!(
        tasks.drain(GRACE, std::future::pending()).await,
        hive::shutdown::End::Drained
    );
}

#[tokio::test]
async fn a_gateway_that_is_away_hangs_up_and_may_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.sock");
    let (address, _tasks, _until) = forwarder(&path).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let mut got = Vec::new();
    // Closed in order or reset: either way there is nothing to read.
    _ = client.read_to_end(&mut got).await;
    assert!(got.is_empty());
    let gateway = UnixListener::bind(&path).unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"x").await.unwrap();
    let (mut server, _) = gateway.accept().await.unwrap();
    assert_eq!(server.read_u8().await.unwrap(), b'x');
}
