//! A Unix socket in front of a container engine's: it can be cut, hung and mended, and it can stop one
//! request on its way, before the engine has seen it or when the engine has answered and nobody knows yet.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// A forwarding socket. Dropping it ends it.
#[derive(Debug)]
pub struct Proxy {
    pub socket: PathBuf,
    state: watch::Sender<State>,
    trap: Arc<Mutex<Option<Trap>>>,
    _accepting: JoinSet<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Connections break.
    Cut,
    /// Connections stay, and nothing goes through them.
    Hung,
}

/// Where a request is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The engine never hears of it.
    Asked,
    /// The engine has done it; its answer never arrives.
    Answered,
}

/// The next request of this kind, and who is told when it is stopped.
#[derive(Debug)]
struct Trap {
    method: &'static str,
    path: &'static str,
    moment: Moment,
    caught: oneshot::Sender<()>,
}

/// What every connection knows.
#[derive(Clone, Debug)]
struct Shared {
    target: Arc<Path>,
    state: watch::Receiver<State>,
    trap: Arc<Mutex<Option<Trap>>>,
}

// === impl Proxy ===

impl Proxy {
    /// Listens at `socket` and forwards to `target`.
    #[must_use]
    pub fn start(socket: &Path, target: &Path) -> Self {
        let listener = UnixListener::bind(socket)
            .unwrap_or_else(|error| panic!("{}: {error}", socket.display()));
        let (sender, state) = watch::channel(State::Open);
        let trap = Arc::new(Mutex::new(None));
        let shared = Shared {
            target: Arc::from(target),
            state,
            trap: trap.clone(),
        };
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, shared));
        Self {
            socket: socket.to_owned(),
            state: sender,
            trap,
            _accepting: accepting,
        }
    }

    /// Breaks every connection and answers no new one.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Lets every connection stand, new ones too, and answers none.
    pub fn hang(&self) {
        self.state.send_replace(State::Hung);
    }

    /// Forwards again; connections that hung break.
    pub fn mend(&self) {
        self.state.send_replace(State::Open);
    }

    /// Stops the next request with this method whose path contains `path`; what is returned is told when
    /// that has happened. The connection is then silent until its client goes away.
    #[must_use]
    pub fn catch(
        &self,
        method: &'static str,
        path: &'static str,
        moment: Moment,
    ) -> oneshot::Receiver<()> {
        let (caught, told) = oneshot::channel();
        let trap = Trap {
            method,
            path,
            moment,
            caught,
        };
        *self.trap.lock().expect("no panic before") = Some(trap);
        told
    }
}

// === impl Shared ===

impl Shared {
    /// Whether this is what is waited for; it is told then, and not waited for any more.
    fn springs(&self, request: &str, moment: Moment) -> bool {
        let mut trap = self.trap.lock().expect("no panic before");
        let sprung = trap.take_if(|trap| {
            let mut words = request.split(' ');
            let (method, path) = (words.next(), words.next().unwrap_or_default());
            trap.moment == moment && method == Some(trap.method) && path.contains(trap.path)
        });
        match sprung {
            // Nobody may be waiting any more.
            Some(trap) => trap.caught.send(()).is_ok(),
            None => false,
        }
    }
}

async fn accept(listener: UnixListener, shared: Shared) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let now = *shared.state.borrow();
        if now != State::Cut {
            connections.spawn(connection(client, shared.clone()));
        }
    }
}

async fn connection(client: UnixStream, shared: Shared) {
    let mut state = shared.state.clone();
    let passing = forward(client, &shared);
    tokio::pin!(passing);
    tokio::select! {
        biased;
        _ = state.wait_for(|state| *state != State::Open) => {}
        // Either side may end at any time; that is not this one's business.
        _ = &mut passing => return,
    }
    // Nothing goes on any more; what it holds breaks when the hanging is over.
    _ = state.wait_for(|state| *state != State::Hung).await;
}

/// One request after the other: a client of the engine waits for an answer before it asks again.
async fn forward(mut client: UnixStream, shared: &Shared) -> std::io::Result<()> {
    let mut server = UnixStream::connect(&*shared.target).await?;
    let (mut up, mut down) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut request = String::new();
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let piece = &up[..read?];
                if piece.is_empty() {
                    return Ok(());
                }
                if let Some(line) = request_line(piece) {
                    request = line;
                    if shared.springs(&request, Moment::Asked) {
                        return silence(client).await;
                    }
                }
                server.write_all(piece).await?;
            }
            read = server.read(&mut down) => {
                let piece = &down[..read?];
                if piece.is_empty() {
                    return Ok(());
                }
                if shared.springs(&request, Moment::Answered) {
                    return silence(client).await;
                }
                client.write_all(piece).await?;
            }
        }
    }
}

/// The first line of a request, if a request begins here.
fn request_line(piece: &[u8]) -> Option<String> {
    let line = piece.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.ends_with(" HTTP/1.1").then(|| line.to_owned())
}

/// Until the client goes away.
async fn silence(mut client: UnixStream) -> std::io::Result<()> {
    let mut said = [0; 1024];
    while client.read(&mut said).await? > 0 {}
    Ok(())
}
