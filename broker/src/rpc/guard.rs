//! The one place where calls are admitted: every request of every gRPC socket passes here before any
//! handler sees it, and every refusal for lack of a right is audited here on its way out, whoever
//! refused.
//!
//! A refused call has no effect: its body is not even read.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hive_proto::Refusal;
use hive_proto::ids::AgentId;
use http::{Request, Response};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::server::UdsConnectInfo;
use tower::{Layer, Service};

use super::authorisation::{self, PACKAGE, Rule, Who};
use super::gate::{AgentGate, OperatorGate, gone};
use crate::audit::{Audit, Caller};
use crate::authority::Authority;
use crate::refusals::Refuse as _;

/// What stands before the routes of one socket.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    door: Door,
    audit: Audit,
}

/// Whose socket it is.
#[derive(Clone, Debug)]
enum Door {
    Agent {
        id: AgentId,
        gate: AgentGate,
        authority: Authority,
        /// Cancelled when the agent is removed.
        closed: CancellationToken,
    },
    Operator(OperatorGate),
}

/// Routes behind their guard.
#[derive(Clone, Debug)]
pub(super) struct Guarded<S> {
    guard: Guard,
    routes: S,
}

// === impl Guard ===

impl Guard {
    pub(super) fn agent(
        id: AgentId,
        gate: AgentGate,
        authority: Authority,
        audit: Audit,
        closed: CancellationToken,
    ) -> Self {
        let door = Door::Agent {
            id,
            gate,
            authority,
            closed,
        };
        Self { door, audit }
    }

    pub(super) fn operator(gate: OperatorGate, audit: Audit) -> Self {
        Self {
            door: Door::Operator(gate),
            audit,
        }
    }

    /// Whether the call may go on to its handler.
    async fn admit(&self, path: &str, peer: Option<&UdsConnectInfo>) -> Result<(), Refusal> {
        match &self.door {
            Door::Operator(gate) => {
                gate.check(peer)?;
                ruled(path)?.map_or(Ok(()), Rule::admit_operator)
            }
            Door::Agent {
                id,
                gate,
                authority,
                ..
            } => {
                gate.check()?;
                match ruled(path)? {
                    Some(rule) => admit_agent(rule, *id, authority).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Ends a call whose agent is removed meanwhile.
    async fn revoked(&self) {
        match &self.door {
            Door::Agent { closed, .. } => closed.cancelled().await,
            Door::Operator(_) => std::future::pending().await,
        }
    }

    fn note(&self, path: &str, refusal: &Refusal) {
        let caller = match &self.door {
            Door::Agent { id, .. } => Caller::Agent(*id),
            Door::Operator(_) => Caller::Operator,
        };
        let method = authorisation::rule(path).map_or_else(|| "unknown".to_owned(), Rule::name);
        self.audit.call_refused(caller, &method, refusal);
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, routes: S) -> Guarded<S> {
        Guarded {
            guard: self.clone(),
            routes,
        }
    }
}

impl Service<Request<Body>> for Guarded<Routes> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<Body>>::poll_ready(&mut self.routes, cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The one that was polled ready goes with the call, its copy stays.
        let fresh = self.routes.clone();
        let mut routes = std::mem::replace(&mut self.routes, fresh);
        let guard = self.guard.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let peer = request.extensions().get::<UdsConnectInfo>().cloned();
            if let Err(refusal) = guard.admit(&path, peer.as_ref()).await {
                // A stranger at the operator's socket is another kind of event, written by its gate.
                if !is_stranger(&guard.door, peer.as_ref()) {
                    guard.note(&path, &refusal);
                }
                return Ok(Status::from(refusal).into_http());
            }
            let response = tokio::select! {
                response = routes.call(request) => response?,
                () = guard.revoked() => Status::from(gone()).into_http(),
            };
            if let Some(refusal) = refused(&response) {
                guard.note(&path, &refusal);
            }
            Ok(response)
        })
    }
}

/// Asks for the right to another call, in a handler that does for some requests what that call does.
///
/// # Errors
/// Why the agent may not make that call.
pub(super) async fn admit_as(
    path: &str,
    agent: AgentId,
    authority: &Authority,
) -> Result<(), Refusal> {
    let rule = authorisation::rule(path).ok_or_else(|| authorisation::unruled(path))?;
    admit_agent(rule, agent, authority).await
}

async fn admit_agent(rule: &Rule, id: AgentId, authority: &Authority) -> Result<(), Refusal> {
    // The calls of every turn need nothing of the database.
    if rule.who == Who::Agent && rule.group.is_none() {
        return Ok(());
    }
    let standing = authority.standing(id).await.map_err(|e| e.refusal())?;
    let standing = standing.ok_or_else(gone)?;
    rule.admit_agent(standing.role, &standing.tools)
}

/// The row of a path; `None` for a path that is not of hive, which no route answers.
fn ruled(path: &str) -> Result<Option<&'static Rule>, Refusal> {
    match authorisation::rule(path) {
        None if path.starts_with(PACKAGE) => Err(authorisation::unruled(path)),
        found => Ok(found),
    }
}

fn is_stranger(door: &Door, peer: Option<&UdsConnectInfo>) -> bool {
    match door {
        Door::Agent { .. } => false,
        Door::Operator(gate) => !gate.knows(peer),
    }
}

/// The refusal that a handler answered with. A stream's later ones are not looked for: a right is
/// checked before a stream begins.
fn refused(response: &Response<Body>) -> Option<Refusal> {
    let status = Status::from_header_map(response.headers())?;
    Refusal::carried(&status)
}
