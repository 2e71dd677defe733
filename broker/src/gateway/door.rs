//! The gateway itself: which call goes where, and what is reported of it.

use std::sync::Arc;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::body::{Body, Bounded};
use super::limited::in_words;
use super::meter::{Meter, Shape};
use super::metered::{Call, Metered, UsageSink};
use super::refuse::Refusal;
use super::routes::Route;
use super::scripted::{Cut, Scripted};
use super::settings::{Limits, Settings, Target};
use super::upstream::HttpUpstream;
use crate::clock::Clock;
use crate::shutdown::Tasks;

/// Who calls: the owner of the socket that took the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub id: AgentId,
    pub name: AgentName,
}

/// One for all agents; cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    upstream: Upstream,
    limits: Limits,
    clock: Clock,
    tasks: Tasks,
    sink: UsageSink,
}

enum Upstream {
    Http(HttpUpstream),
    Scripted(Scripted),
}

/// Why a gateway cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("the HTTP client for the model's server cannot be made")]
    Client(#[source] reqwest::Error),
}

// === impl Gateway ===

impl Gateway {
    /// A gateway to the configured upstream. Nothing is connected and no key is read yet.
    ///
    /// # Errors
    /// When the HTTP client cannot be made, e.g. without the host's certificates.
    pub fn new(
        settings: Settings,
        clock: Clock,
        tasks: Tasks,
        sink: UsageSink,
    ) -> Result<Self, GatewayError> {
        let limits = settings.limits;
        let upstream = match settings.upstream {
            Target::Http {
                url,
                credential,
                header,
            } => Upstream::Http(
                HttpUpstream::new(url, credential, header, &limits)
                    .map_err(GatewayError::Client)?,
            ),
            Target::Scripted(script) => Upstream::Scripted(Scripted::new(script)),
        };
        Ok(Self(Arc::new(Inner {
            upstream,
            limits,
            clock,
            tasks,
            sink,
        })))
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Answers one request. [`Cut`] means that the connection is to be cut without an answer.
    pub(super) async fn answer(
        &self,
        caller: &Caller,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Cut> {
        let at = self.0.clock.now();
        let route = match self.admit(&request) {
            Ok(route) => route,
            Err(refusal) => return Ok(refusal.response()),
        };
        let (parts, body) = request.into_parts();
        let body = Bounded::new(body, self.0.limits.body_bytes, self.0.limits.body_pause);
        let answer = match &self.0.upstream {
            Upstream::Http(upstream) => upstream.call(parts, body).await,
            Upstream::Scripted(scripted) => {
                let agent = caller.name.as_str();
                scripted.answer(agent, route, body).await?
            }
        };
        let response = answer.unwrap_or_else(|refusal| refusal.response());
        let response = in_words(response).await;
        Ok(match route {
            Route::Messages => self.metered(caller, at, response),
            Route::CountTokens | Route::Models => response,
        })
    }

    fn admit(&self, request: &Request<Incoming>) -> Result<Route, Refusal> {
        let route = Route::of(request.method(), request.uri())?;
        // A length that is announced is refused before a byte of it is read.
        let limit = self.0.limits.body_bytes;
        match request.body().size_hint().exact() {
            Some(length) if length > limit => Err(Refusal::TooLarge(limit)),
            Some(_) | None => Ok(route),
        }
    }

    fn metered(
        &self,
        caller: &Caller,
        at: hive_proto::ids::UnixMs,
        response: Response<Body>,
    ) -> Response<Body> {
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let meter = Meter::new(Shape::of(content_type.unwrap_or_default()));
        let call = Call {
            agent: caller.id,
            status: response.status().as_u16(),
            at,
            sink: Arc::clone(&self.0.sink),
        };
        response.map(|body| Metered::new(body, call, meter).boxed_unsync())
    }
}
