//! The scripted upstream itself: inside of the gateway, or alone on a port for tests.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hive_proto::script::{Script, Seen};
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::body::{Body, BoundError, Bounded, bound_behind};
use super::super::limited::in_words;
use super::super::refuse::{Refusal, error, json_response};
use super::super::routes::Route;
use super::super::settings::Limits;
use super::answer;
use super::conversation::Conversation;
use super::events;

/// The script wants the connection cut without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cut by the script")]
pub(in crate::gateway) struct Cut;

/// A model's server that plays a script.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    seen: Mutex<Seen>,
    /// What a client on the standalone port must present.
    key: Option<String>,
}

// === impl Scripted ===

impl Scripted {
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self {
            script,
            seen: Mutex::default(),
            key: None,
        }
    }

    /// On its own port it answers 401 to whoever does not present `key`.
    #[must_use]
    pub fn requiring(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Answers one call of `agent`; an empty name stands for nobody known.
    pub(in crate::gateway) async fn answer(
        &self,
        agent: &str,
        route: Route,
        body: Bounded,
    ) -> Result<Result<Response<Body>, Refusal>, Cut> {
        let body = match collect(body).await {
            Ok(body) => body,
            Err(refusal) => return Ok(Err(refusal)),
        };
        Ok(match route {
            Route::Models => Ok(json_response(200, &models())),
            Route::CountTokens => Ok(json_response(
                200,
                &json!({ "input_tokens": body.len() / 4 }),
            )),
            Route::Messages => match Conversation::read(agent, &body) {
                Err(why) => Err(Refusal::Malformed(why)),
                Ok(conversation) => {
                    let answer = {
                        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                        answer::answer(&self.script, &mut seen, &conversation.asks)
                    };
                    Ok(events::respond(&conversation, answer).await?)
                }
            },
        })
    }

    async fn standalone(&self, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
        let route = match Route::of(request.method(), request.uri()) {
            Ok(route) => route,
            Err(refusal) => return Ok(refusal.response()),
        };
        if !self.lets_in(request.headers()) {
            return Ok(error(401, "invalid x-api-key"));
        }
        let agent = request.headers().get("x-hive-agent");
        let agent = agent
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let agent = agent.to_owned();
        let limits = Limits::default();
        let body = Bounded::new(request.into_body(), limits.body_bytes, limits.body_pause);
        let answer = self.answer(&agent, route, body).await?;
        Ok(in_words(answer.unwrap_or_else(|refusal| refusal.response())).await)
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let has = |name: &str, wanted: &str| headers.get(name).is_some_and(|it| it == wanted);
        has("x-api-key", key) || has("authorization", &format!("Bearer {key}"))
    }
}

/// Serves a script on a port of its own until `stopping`; connections are cut then. Rules with
/// `agent` match only clients that name one in the header `x-hive-agent`.
pub async fn serve_standalone(
    scripted: Arc<Scripted>,
    listener: TcpListener,
    stopping: CancellationToken,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        if let Ok((stream, _)) = accepted {
            connections.spawn(serve_connection(Arc::clone(&scripted), stream));
        }
    }
}

async fn serve_connection(scripted: Arc<Scripted>, stream: TcpStream) {
    // A connection that breaks is its client's affair, and often the script's wish.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| scripted.standalone(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

async fn collect(body: Bounded) -> Result<Bytes, Refusal> {
    let collected = body.collect().await;
    collected
        .map(|body| body.to_bytes())
        .map_err(|error| match bound_behind(error.as_ref()) {
            Some(BoundError::TooLarge(limit)) => Refusal::TooLarge(limit),
            Some(BoundError::Stalled) => Refusal::BodyStalled,
            None => Refusal::Malformed("the body broke off".to_owned()),
        })
}

fn models() -> serde_json::Value {
    json!({
        "data": [{
            "type": "model",
            "id": "scripted",
            "display_name": "Scripted",
            "created_at": "2026-01-01T00:00:00Z",
        }],
        "has_more": false,
        "first_id": "scripted",
        "last_id": "scripted",
    })
}
