//! Who gets one of a socket's connections: the kernel says who connects, before anything is read.

use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::gate::Operators;
use crate::audit::Audit;

/// Connections of one socket; more wait in its backlog.
const CONNECTIONS: usize = 256;
/// Connections over which others are told that they may not; more are closed unheard.
const REFUSED: usize = 16;

/// Hands out a socket's connections. They are two stocks, so that whoever may not use the socket
/// cannot use it up either.
#[derive(Debug)]
pub(super) struct Peers {
    allowed: Allowed,
    connections: Arc<Semaphore>,
    refused: Arc<Semaphore>,
}

/// Who may use the socket.
#[derive(Debug)]
pub(super) enum Allowed {
    /// Whoever can open it: its mode and the directory above keep others out.
    Everybody,
    /// Others reach it too, and each of their connections is written down.
    Operators(Operators, Audit),
}

// === impl Peers ===

impl Peers {
    pub(super) fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
            refused: Arc::new(Semaphore::new(REFUSED)),
        }
    }

    /// Waits for a place for a peer that may use the socket. Another one gets a short-lived
    /// connection, on which its call is answered with the refusal, or none at all.
    pub(super) async fn place(&self, stream: UnixStream) -> Option<Connection> {
        if self.allowed.admit(&stream) {
            let slot = self.slot().await?;
            return Some(Connection::new(stream, slot));
        }
        let slot = Arc::clone(&self.refused).try_acquire_owned().ok()?;
        Some(Connection::short(stream, slot))
    }

    /// The semaphore is never closed, so a slot always comes.
    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).acquire_owned().await.ok()
    }
}

// === impl Allowed ===

impl Allowed {
    fn admit(&self, stream: &UnixStream) -> bool {
        let Self::Operators(operators, audit) = self else {
            return true;
        };
        let peer = stream.peer_cred().ok();
        let uid = peer.map(|cred| cred.uid());
        let admitted = uid.is_some_and(|uid| operators.admit(uid));
        if !admitted {
            audit.operator_refused(uid, peer.and_then(|cred| cred.pid()));
        }
        admitted
    }
}
