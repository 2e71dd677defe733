//! A gateway on a Unix socket, an upstream whose bytes a test writes by hand, and a client that
//! sees the bytes as they come.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::script::Script;
use hived::clock::Clock;
use hived::gateway::{
    Caller, Credential, Gateway, KeyHeader, Limits, ModelCall, Settings, Target, serve_agent,
};
use hived::shutdown::Tasks;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// The key that the gateway adds.
pub(crate) const KEY: &str = "sk-real-0123456789";
/// What an agent might send as its own.
pub(crate) const FAKE: &str = "sk-agent-own";

/// How long a test waits for something that should come at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway that serves one agent, `cook`.
pub(crate) struct Door {
    pub(crate) tasks: Tasks,
    pub(crate) calls: Arc<Mutex<Vec<ModelCall>>>,
    socket: PathBuf,
    dir: tempfile::TempDir,
}

/// One connection of a client or of the gateway to its upstream.
pub(crate) struct Wire<S> {
    stream: S,
    /// Read and not yet taken.
    pub(crate) held: Vec<u8>,
}

/// A response, all of it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// With the chunks put together.
    pub(crate) body: String,
}

/// A server on loopback whose connections a test takes by hand.
pub(crate) struct Upstream {
    listener: TcpListener,
    pub(crate) url: String,
}

/// Fails the test when `future` takes too long.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(PATIENCE, future).await else {
        panic!("waited too long for {what}");
    };
    done
}

// === impl Door ===

impl Door {
    /// To an upstream at `url`, with a key in a file.
    pub(crate) fn to(url: &str) -> Self {
        Self::with(url, KeyHeader::ApiKey, Limits::default())
    }

    pub(crate) fn with(url: &str, header: KeyHeader, limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, format!("{KEY}\n")).unwrap();
        Self::open(dir, http(url, Some(Credential::File(file)), header), limits)
    }

    pub(crate) fn with_credential(url: &str, credential: Option<Credential>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let target = http(url, credential, KeyHeader::ApiKey);
        Self::open(dir, target, Limits::default())
    }

    pub(crate) fn scripted(script: &str) -> Self {
        let script = Script::parse(script).unwrap_or_else(|faults| panic!("{faults}"));
        let dir = tempfile::tempdir().unwrap();
        Self::open(dir, Target::Scripted(script), Limits::default())
    }

    fn open(dir: tempfile::TempDir, upstream: Target, limits: Limits) -> Self {
        let socket = dir.path().join("gateway.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let calls: Arc<Mutex<Vec<ModelCall>>> = Arc::default();
        let tasks = Tasks::default();
        let sink = {
            let calls = Arc::clone(&calls);
            Arc::new(move |call| calls.lock().unwrap().push(call))
        };
        let settings = Settings { upstream, limits };
        let gateway = Gateway::new(settings, Clock::system(), tasks.clone(), sink).unwrap();
        let agent = Caller {
            id: AgentId(7),
            name: "cook".parse().unwrap(),
        };
        tasks.spawn("gateway", serve_agent(gateway, agent, listener));
        Self {
            tasks,
            calls,
            socket,
            dir,
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) async fn connect(&self) -> Wire<UnixStream> {
        Wire::new(UnixStream::connect(&self.socket).await.unwrap())
    }

    /// Sends a whole request on a connection of its own.
    pub(crate) async fn send(&self, head: &str, body: &str) -> Wire<UnixStream> {
        let mut wire = self.connect().await;
        wire.write(&request(head, body)).await;
        wire
    }

    /// Sends a whole request and reads the whole answer.
    pub(crate) async fn ask(&self, head: &str, body: &str) -> Answer {
        self.send(head, body).await.answer().await
    }

    /// `POST /v1/messages` without anything special.
    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.ask("POST /v1/messages?beta=true HTTP/1.1", body).await
    }
}

fn http(url: &str, credential: Option<Credential>, header: KeyHeader) -> Target {
    Target::Http {
        url: url.parse().unwrap(),
        credential,
        header,
    }
}

/// The bytes of a request; `head` is its first line and any further header lines.
pub(crate) fn request(head: &str, body: &str) -> String {
    let length = body.len();
    let lines = head.replace('\n', "\r\n");
    format!(
        "{lines}\r\nhost: hive\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

// === impl Upstream ===

impl Upstream {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, url }
    }

    /// The next connection, and the head of its request.
    pub(crate) async fn take(&self) -> (Wire<TcpStream>, String) {
        let accepted = soon("a call of the upstream", self.listener.accept()).await;
        let mut wire = Wire::new(accepted.unwrap().0);
        let head = wire.until("\r\n\r\n").await;
        (wire, head)
    }

    /// Whether nobody has connected so far.
    pub(crate) async fn untouched(&self) -> bool {
        let mut accept = Box::pin(self.listener.accept());
        futures::poll!(accept.as_mut()).is_pending()
    }
}

// === impl Wire ===

impl Wire<TcpStream> {
    pub(crate) async fn tcp(address: std::net::SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            held: Vec::new(),
        }
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Writes what may find nobody there any more.
    pub(crate) async fn try_write(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.write_all(text.as_bytes()).await
    }

    /// Everything up to and with `needle`.
    pub(crate) async fn until(&mut self, needle: &str) -> String {
        loop {
            let at = find(&self.held, needle.as_bytes());
            if let Some(at) = at {
                let taken: Vec<u8> = self.held.drain(..at + needle.len()).collect();
                return String::from_utf8(taken).unwrap();
            }
            let read = soon(needle, self.stream.read_buf(&mut self.held)).await;
            let so_far = String::from_utf8_lossy(&self.held).into_owned();
            assert!(read.unwrap() > 0, "the connection ended with {so_far:?}");
        }
    }

    /// Everything up to the end of the connection, however it ends.
    pub(crate) async fn rest(&mut self) -> String {
        loop {
            let read = self.stream.read_buf(&mut self.held);
            let Ok(read) = tokio::time::timeout(PATIENCE, read).await else {
                let held = String::from_utf8_lossy(&self.held);
                panic!("the connection did not end after {held:?}");
            };
            if matches!(read, Ok(0) | Err(_)) {
                break;
            }
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }

    /// The whole answer of a connection that closes after it.
    pub(crate) async fn answer(&mut self) -> Answer {
        let whole = self.rest().await;
        let (head, body) = whole
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {whole:?}"));
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = match head.contains("transfer-encoding: chunked") {
            true => dechunk(body),
            false => body.to_owned(),
        };
        Answer { status, head, body }
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The type of an error in the shape of the Messages API.
    pub(crate) fn error(&self) -> String {
        let json = self.json();
        assert_eq!(json["type"], "error", "{json}");
        assert!(json["error"]["message"].is_string(), "{json}");
        json["error"]["type"].as_str().unwrap().to_owned()
    }
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part == needle)
}

fn dechunk(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        text = &rest[size + 2..];
    }
    whole
}
