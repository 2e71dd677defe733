//! A receiver of webhooks that fails in chosen ways, and a check of signatures that shares no code with
//! hived's.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How one request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Status(u16),
    /// A status with one header.
    With(u16, &'static str, String),
    /// A status with a body.
    Saying(u16, String),
    /// Never: the connection stays open.
    Silence,
}

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// A server on loopback. Dropping it ends it.
#[derive(Debug)]
pub struct Receiver {
    pub url: String,
    shared: Arc<Mutex<Shared>>,
    _accepting: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    answers: VecDeque<Answer>,
    posts: Vec<Post>,
}

// === impl Receiver ===

impl Receiver {
    /// Answers the first requests so, and all further ones with 200.
    pub async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Mutex::new(Shared {
            answers: answers.into(),
            posts: Vec::new(),
        }));
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, shared.clone()));
        Self {
            url: format!("http://{address}/hook"),
            shared,
            _accepting: accepting,
        }
    }

    /// What came so far, oldest first.
    #[must_use]
    pub fn posts(&self) -> Vec<Post> {
        lock(&self.shared).posts.clone()
    }
}

// === impl Post ===

impl Post {
    /// A header; empty when it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the signature is that of this secret (`whsec_…`).
    #[must_use]
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let Some(key) = secret.strip_prefix("whsec_") else {
            return false;
        };
        let key = STANDARD.decode(key).expect("a secret in base64");
        let signed = format!(
            "{}.{}.",
            self.header("webhook-id"),
            self.header("webhook-timestamp")
        );
        let mac = hmac_sha256(&key, &[signed.as_bytes(), &self.body].concat());
        self.header("webhook-signature") == format!("v1,{}", STANDARD.encode(mac))
    }
}

/// By the definition of RFC 2104, for keys of at most one block.
fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    let padded = |pad: u8| -> Vec<u8> {
        let mut block = [pad; 64];
        for (at, byte) in key.iter().enumerate() {
            block[at] ^= byte;
        }
        block.to_vec()
    };
    let inner = Sha256::digest([padded(0x36), text.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Mutex<Shared>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(stream, shared.clone()));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Mutex<Shared>>) {
    let service = hyper::service::service_fn(move |request| answer(request, shared.clone()));
    // A client that goes away in the middle is part of some tests.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Mutex<Shared>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(whole) => whole.to_bytes().to_vec(),
        Err(_) => Vec::new(),
    };
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let headers = headers.collect();
    let answer = {
        let mut shared = lock(&shared);
        shared.posts.push(Post { headers, body });
        shared.answers.pop_front().unwrap_or(Answer::Status(200))
    };
    let (status, header, text) = match answer {
        Answer::Status(status) => (status, None, String::new()),
        Answer::With(status, name, value) => (status, Some((name, value)), String::new()),
        Answer::Saying(status, text) => (status, None, text),
        Answer::Silence => std::future::pending().await,
    };
    let mut response = Response::builder().status(status);
    if let Some((name, value)) = header {
        response = response.header(name, value);
    }
    Ok(response
        .body(Full::new(Bytes::from(text)))
        .expect("a status and a header that a test chose"))
}
