//! HTTP/1 on the listen address. `axum::serve` has no deadline for a request's head, so this is
//! hyper's own builder with one.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// For the whole head of a request; an idle connection is closed after it too.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of a head.
const HEAD_BYTES: usize = 16 * 1024;
/// Connections open at once; beyond it the newest are closed at once, so that slow ones cannot keep
/// everyone out for ever: theirs end by [`HEAD_TIME`].
const CONNECTIONS: usize = 1024;
/// After a failed accept: without descriptors or memory the next one fails too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` until `until`.
pub async fn serve(listener: TcpListener, router: Router, until: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = until.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
                    continue;
                };
                let (router, until) = (router.clone(), until.clone());
                connections.spawn(async move {
                    connection(stream, router, until).await;
                    drop(slot);
                });
            }
            Err(error) => {
                warn!(%error, "the web listener cannot accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, router: Router, until: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = until.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a web connection broke");
    }
}
