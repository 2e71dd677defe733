//! The routes.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::Html;
use axum::routing::get;

use super::headers::{Hosts, guard};
use crate::health::Health;

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <title>hive</title>\n<h1>hive</h1>\n\
    <p>This hive is running. Its dashboard does not exist yet; until then \
    <code>hive status</code>, <code>hive agent ls</code> and <code>hive inbox</code> show what \
    it does.</p>\n</html>\n";

/// Everything that is served on `address`.
pub fn router(address: SocketAddr, health: Health) -> Router {
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/healthz", get(healthz))
        .fallback(async || (StatusCode::NOT_FOUND, "not found\n"))
        .with_state(health)
        .layer(middleware::from_fn_with_state(Hosts::of(address), guard))
}

/// 200 while messages are accepted, 503 and why otherwise.
async fn healthz(State(health): State<Health>) -> (StatusCode, String) {
    match health.fault() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(fault) => (StatusCode::SERVICE_UNAVAILABLE, format!("{fault}\n")),
    }
}
