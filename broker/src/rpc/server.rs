//! One gRPC socket: its connections, streams, headers and silences are bounded, so whoever misuses
//! it only gets in its own way.

use std::convert::Infallible;
use std::time::Duration;

use futures::Stream;
use futures::stream;
use hive_proto::limits::STREAMS_PER_CONNECTION;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tracing::warn;

use super::connection::Connection;
use super::guard::Guard;
use super::peers::Peers;

/// A connection that does not answer a ping within this is closed.
const PING: Duration = Duration::from_secs(20);
/// Headers of one call, in bytes.
const HEADER_BYTES: u32 = 16 * 1024;
/// Streams that a client opened and reset at once, before its connection is closed.
const PENDING_RESETS: usize = 20;
/// After a failed accept: without descriptors or memory the next one fails too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a socket serves, to whom, and what each call must pass first.
pub(super) struct Served {
    pub(super) peers: Peers,
    pub(super) guard: Guard,
    pub(super) routes: Routes,
}

/// Serves until `until`; running calls then have the shutdown's grace.
pub(super) async fn serve(listener: UnixListener, served: Served, until: CancellationToken) {
    let server = Server::builder()
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING))
        .http2_max_header_list_size(HEADER_BYTES)
        .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS))
        .layer(served.guard)
        .add_routes(served.routes)
        .serve_with_incoming_shutdown(incoming(listener, served.peers), until.cancelled_owned());
    if let Err(error) = server.await {
        warn!(%error, "a socket is no longer served");
    }
}

/// Connections one by one, each with a slot of its own. Never ends.
fn incoming(
    listener: UnixListener,
    peers: Peers,
) -> impl Stream<Item = Result<Connection, Infallible>> {
    stream::unfold((listener, peers), |(listener, peers)| async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    if let Some(connection) = peers.place(stream).await {
                        return Some((Ok(connection), (listener, peers)));
                    }
                }
                Err(error) => {
                    warn!(%error, "a socket cannot accept");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    })
}
