//! Calls the configured server: the agent's request with the real key, streaming both ways.

use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use reqwest::Url;
use reqwest::redirect::Policy;
use tracing::warn;

use super::body::{Body, BoundError, Bounded, BoxError, bound_behind};
use super::credential::Key;
use super::headers;
use super::refuse::Refusal;
use super::settings::{Credential, KeyHeader, Limits};

#[derive(Debug)]
pub(super) struct HttpUpstream {
    client: reqwest::Client,
    url: Url,
    key: Key,
}

// === impl HttpUpstream ===

impl HttpUpstream {
    pub(super) fn new(
        url: Url,
        credential: Option<Credential>,
        header: KeyHeader,
        limits: &Limits,
    ) -> Result<Self, reqwest::Error> {
        // The one provider that hive is built with; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // A redirect would carry the key to wherever it points.
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(limits.connect_time)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self {
            client,
            url,
            key: Key::new(credential, header),
        })
    }

    pub(super) async fn call(
        &self,
        parts: Parts,
        body: Bounded,
    ) -> Result<Response<Body>, Refusal> {
        let mut headers = headers::to_upstream(&parts.headers);
        self.key.add_to(&mut headers).await?;
        let request = self
            .client
            .request(parts.method, self.url_for(&parts.uri))
            .headers(headers)
            .body(reqwest::Body::wrap(body));
        let response = request.send().await.map_err(|error| failed(&error))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.key.refused().await;
        }
        let (parts, body) = Response::<reqwest::Body>::from(response).into_parts();
        let mut passed = Response::new(body.map_err(BoxError::from).boxed_unsync());
        *passed.status_mut() = parts.status;
        *passed.headers_mut() = headers::to_agent(&parts.headers);
        Ok(passed)
    }

    /// The request's path behind the configured URL's own.
    fn url_for(&self, uri: &http::Uri) -> Url {
        let mut url = self.url.clone();
        let base = self.url.path().trim_end_matches('/');
        url.set_path(&format!("{base}{}", uri.path()));
        url.set_query(uri.query());
        url
    }
}

fn failed(error: &reqwest::Error) -> Refusal {
    match bound_behind(error) {
        Some(BoundError::TooLarge(limit)) => Refusal::TooLarge(limit),
        Some(BoundError::Stalled) => Refusal::BodyStalled,
        None => {
            let chain = chain(error);
            warn!(error = chain, "a model call could not be made");
            Refusal::Unreachable
        }
    }
}

/// The causes of an error without its first line, which holds the URL and says nothing more.
fn chain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.join(": ")
}
