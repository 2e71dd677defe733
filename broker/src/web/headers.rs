//! What every answer bears, and which requests are for us at all.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// No script, no frame, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The names under which this listener may be called; anything else is a page of another site whose
/// name was pointed here (DNS rebinding).
#[derive(Clone, Debug)]
pub(super) struct Hosts(Vec<String>);

// === impl Hosts ===

impl Hosts {
    pub(super) fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let names = ["localhost", "127.0.0.1", "[::1]"];
        let mut hosts: Vec<_> = names.map(|name| format!("{name}:{port}")).into();
        hosts.push(address.to_string());
        Self(hosts)
    }

    fn know(&self, request: &Request) -> bool {
        let mut given = request.headers().get_all(header::HOST).iter();
        let host = given.next().and_then(|host| host.to_str().ok());
        let known = |host: &str| self.0.iter().any(|ours| ours.eq_ignore_ascii_case(host));
        host.is_some_and(known) && given.next().is_none()
    }
}

/// Checks the Host header and guards the answer.
pub(super) async fn guard(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let mut response = if hosts.know(&request) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "this is not that host\n").into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
