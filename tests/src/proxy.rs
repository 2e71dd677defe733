//! A Unix socket in front of another one that can be cut and mended, for "the engine is away".

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A forwarding socket. Dropping it ends it.
#[derive(Debug)]
pub struct Proxy {
    pub socket: PathBuf,
    open: watch::Sender<bool>,
    _accepting: JoinSet<()>,
}

// === impl Proxy ===

impl Proxy {
    /// Listens at `socket` and forwards to `target`.
    #[must_use]
    pub fn start(socket: &Path, target: &Path) -> Self {
        let listener = UnixListener::bind(socket)
            .unwrap_or_else(|error| panic!("{}: {error}", socket.display()));
        let (open, state) = watch::channel(true);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::from(target), state));
        Self {
            socket: socket.to_owned(),
            open,
            _accepting: accepting,
        }
    }

    /// Breaks every connection and answers no new one.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Forwards again.
    pub fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn accept(listener: UnixListener, target: Arc<Path>, state: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if *state.borrow() {
            connections.spawn(forward(client, target.clone(), state.clone()));
        }
    }
}

async fn forward(mut client: UnixStream, target: Arc<Path>, mut state: watch::Receiver<bool>) {
    let Ok(mut server) = UnixStream::connect(&*target).await else {
        return;
    };
    tokio::select! {
        // Either side may end at any time; that is not this one's business.
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = state.wait_for(|open| !open) => {}
    }
}
