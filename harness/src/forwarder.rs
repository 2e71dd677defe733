//! Loopback TCP to the gateway's socket, raw bytes: ordinary HTTP clients work in a container
//! without a network.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::shutdown::Tasks;

/// Connections at a time; more wait in the listener's queue.
const CONNECTIONS: usize = 128;
/// Small, since there may be many and most model traffic is short lines.
const BUFFER: usize = 16 * 1024;
/// After a failed accept (no file descriptors left), so that it does not spin.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound listener; nothing is forwarded until [`Forwarder::run`].
#[derive(Debug)]
pub struct Forwarder {
    listener: TcpListener,
    address: SocketAddr,
    gateway: PathBuf,
}

// === impl Forwarder ===

impl Forwarder {
    /// Binds a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When loopback cannot be bound.
    pub async fn bind(gateway: PathBuf) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            gateway,
        })
    }

    /// `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards until `until`: an engine that is being interrupted still needs it.
    pub async fn run(self, tasks: Tasks, until: CancellationToken) {
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let accepted = async {
                // The semaphore is never closed.
                let slot = slots.clone().acquire_owned().await.ok();
                (self.listener.accept().await, slot)
            };
            let (accepted, slot) = tokio::select! {
                got = accepted => got,
                () = until.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (gateway, until) = (self.gateway.clone(), until.clone());
                    tasks.spawn("forward", async move {
                        tokio::select! {
                            () = forward(stream, gateway) => {}
                            () = until.cancelled() => {}
                        }
                        drop(slot);
                    });
                }
                Err(error) => {
                    warn!(%error, "forwarder: accept failed");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// One connection. A gateway that is away looks like a server that hung up.
async fn forward(mut client: TcpStream, gateway: PathBuf) {
    let mut server = match UnixStream::connect(&gateway).await {
        Ok(server) => server,
        Err(error) => {
            warn!(%error, "forwarder: the gateway is away");
            return;
        }
    };
    // Without it a streamed answer's small lines wait for each other.
    _ = client.set_nodelay(true);
    let copied = copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER).await;
    if let Err(error) = copied {
        debug!(%error, "forwarder: the connection broke");
    }
}
