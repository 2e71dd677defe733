//! Each agent's directory of sockets. It outlives restarts of the broker, because a running container
//! has it mounted; the sockets in it are bound anew each time.
//!
//! Binding and serving are apart: [`Sockets`] binds, where an agent's driver asks for it, and hands
//! the listeners over as a [`Door`]; whoever owns the services takes doors and serves them. Clients
//! that connect in between wait in the backlog.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::bind::{BindError, Owner, bind};
use crate::dirs::private_of;
use crate::paths::Paths;

/// gRPC, the JSON line and model calls.
const NAMES: [&str; 3] = ["broker.sock", "mcp.sock", "gateway.sock"];

/// Binds and unbinds; cheap to clone.
#[derive(Clone, Debug)]
pub struct Sockets(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    paths: Paths,
    /// The user that agents run as.
    uid: u32,
    open: Mutex<HashMap<AgentName, Open>>,
    doors: mpsc::UnboundedSender<Door>,
}

#[derive(Debug)]
struct Open {
    id: AgentId,
    closed: CancellationToken,
}

/// One agent's three listeners, to be served until `closed`.
#[derive(Debug)]
pub struct Door {
    pub id: AgentId,
    pub name: AgentName,
    pub broker: UnixListener,
    pub mcp: UnixListener,
    pub gateway: UnixListener,
    /// Cancelled when the agent is removed.
    pub closed: CancellationToken,
}

/// Why an agent has no sockets.
#[derive(Debug, thiserror::Error)]
pub enum SocketsError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("{path}: {why}", path = path.display())]
    Directory { path: PathBuf, why: std::io::Error },
    #[error("hived is stopping")]
    Stopping,
}

// === impl Sockets ===

impl Sockets {
    /// Sockets for agents that run as `uid`, and where their doors come out.
    #[must_use]
    pub fn new(paths: Paths, uid: u32) -> (Self, mpsc::UnboundedReceiver<Door>) {
        let (doors, receiver) = mpsc::unbounded_channel();
        let inner = Inner {
            paths,
            uid,
            open: Mutex::default(),
            doors,
        };
        (Self(Arc::new(inner)), receiver)
    }

    /// Binds an agent's sockets; already done is success.
    ///
    /// # Errors
    /// When the directory or a socket cannot be made. A socket that was bound is stale then, and the
    /// next attempt replaces it.
    pub async fn open(&self, id: AgentId, name: &AgentName) -> Result<(), SocketsError> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = open.get(name) {
            if old.id == id {
                return Ok(());
            }
            // The name was purged and created anew: nothing of the old one may go on.
            old.closed.cancel();
            open.remove(name);
            self.unlink(name);
        }
        let closed = CancellationToken::new();
        let door = self.bind(id, name, closed.clone())?;
        self.0
            .doors
            .send(door)
            .map_err(|_| SocketsError::Stopping)?;
        open.insert(name.clone(), Open { id, closed });
        Ok(())
    }

    /// Ends what is served on an agent's sockets and removes them, directory and all.
    pub async fn close(&self, name: &AgentName) {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = open.remove(name) {
            old.closed.cancel();
        }
        self.unlink(name);
        // Not empty or gone already: nothing of ours is lost with it.
        let _ = std::fs::remove_dir(self.0.paths.agent_sockets(name));
    }

    /// Removes every socket file, not the directories: running containers have them mounted.
    pub fn unlink_all(&self) {
        let open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        for name in open.keys() {
            self.unlink(name);
        }
    }

    fn bind(
        &self,
        id: AgentId,
        name: &AgentName,
        closed: CancellationToken,
    ) -> Result<Door, SocketsError> {
        let folder = self.0.paths.agent_sockets(name);
        let owner = Owner::Uid(self.0.uid);
        private_of(&folder, self.0.uid).map_err(|why| SocketsError::Directory {
            path: folder.clone(),
            why,
        })?;
        let [broker, mcp, gateway] = NAMES.map(|file| bind(&folder.join(file), 0o600, owner));
        Ok(Door {
            id,
            name: name.clone(),
            broker: broker?,
            mcp: mcp?,
            gateway: gateway?,
            closed,
        })
    }

    fn unlink(&self, name: &AgentName) {
        let folder = self.0.paths.agent_sockets(name);
        for file in NAMES {
            // Gone already is what is wanted.
            let _ = std::fs::remove_file(folder.join(file));
        }
    }
}
