//! HTTP on one agent's socket. Whatever the agent does here, it can only get in its own way: its
//! connections, headers, bodies and pauses are bounded.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::door::{Caller, Gateway};

/// After a failed accept: without descriptors or memory the next one fails too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves model calls on one agent's socket until the daemon stops; running calls go on until they
/// end or the shutdown is forced. Dropping the future cuts them.
pub async fn serve_agent(gateway: Gateway, agent: Caller, listener: UnixListener) {
    let stopping = gateway.tasks().stopping();
    let slots = Arc::new(Semaphore::new(gateway.limits().connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = accept(&listener, &slots) => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, slot)) => {
                let (gateway, agent) = (gateway.clone(), agent.clone());
                let stopping = stopping.clone();
                connections.spawn(async move {
                    serve_connection(gateway, agent, stream, stopping).await;
                    drop(slot);
                });
            }
            Err(error) => {
                warn!(agent.name = %agent.name, %error, "the gateway cannot accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Takes a connection when there is a slot for it; until then it waits in the socket's backlog.
async fn accept(
    listener: &UnixListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(UnixStream, Option<OwnedSemaphorePermit>)> {
    // The semaphore is never closed, so a slot always comes.
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn serve_connection(
    gateway: Gateway,
    agent: Caller,
    stream: UnixStream,
    stopping: CancellationToken,
) {
    let limits = *gateway.limits();
    let service = service_fn(|request| gateway.answer(&agent, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_headers(limits.headers)
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(agent.name = %agent.name, %error, "a gateway connection broke");
    }
}
