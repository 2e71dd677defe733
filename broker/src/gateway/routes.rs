//! What the gateway forwards: a fixed list. Everything else ends here.

use http::{Method, Uri};

use super::refuse::Refusal;

/// A call that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Produces text and costs tokens.
    Messages,
    CountTokens,
    Models,
}

impl Route {
    /// Finds the route of a request, or why it has none.
    pub(super) fn of(method: &Method, uri: &Uri) -> Result<Self, Refusal> {
        // An authority means CONNECT or a proxy request: somebody wants the network.
        if method == Method::CONNECT || uri.authority().is_some() {
            return Err(Refusal::NoEgress);
        }
        match (method.as_str(), uri.path()) {
            ("POST", "/v1/messages") => Ok(Self::Messages),
            ("POST", "/v1/messages/count_tokens") => Ok(Self::CountTokens),
            ("GET", "/v1/models") => Ok(Self::Models),
            ("GET", path) if path.strip_prefix("/v1/models/").is_some_and(is_model) => {
                Ok(Self::Models)
            }
            _ => Err(Refusal::UnknownPath),
        }
    }
}

/// One path segment that cannot leave its place, however it is normalised.
fn is_model(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-_.:@".contains(&b);
    (1..=128).contains(&name.len()) && name.bytes().all(legal) && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Route};
    use http::{Method, Uri};

    fn route(method: &str, uri: &str) -> Result<Route, u16> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let uri: Uri = uri.parse().unwrap();
        Route::of(&method, &uri).map_err(|refusal| match refusal {
            Refusal::NoEgress => 403,
            Refusal::UnknownPath => 404,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn model_calls_pass() {
        assert_eq!(route("POST", "/v1/messages?beta=true"), Ok(Route::Messages));
        assert_eq!(
            route("POST", "/v1/messages/count_tokens?beta=true"),
            Ok(Route::CountTokens)
        );
        assert_eq!(route("GET", "/v1/models?limit=5"), Ok(Route::Models));
        assert_eq!(
            route("GET", "/v1/models/claude-haiku-5-5"),
            Ok(Route::Models)
        );
    }

    #[test]
    fn everything_else_ends_here() {
        for (method, uri) in [
            ("GET", "/"),
            ("GET", "/v1/messages"),
            ("PUT", "/v1/messages"),
            ("POST", "/v1/messages/"),
            ("POST", "/v1/messages/batches"),
            ("POST", "//v1/messages"),
            ("POST", "/v1/../v1/messages"),
            ("POST", "/V1/messages"),
            ("GET", "/v1/models/"),
            ("GET", "/v1/models/.."),
            ("GET", "/v1/models/a/b"),
            ("GET", "/v1/models/%2e%2e"),
            ("GET", "/v1/files"),
            ("GET", "/v1/organizations/api_keys"),
            ("DELETE", "/v1/models/x"),
        ] {
            assert_eq!(route(method, uri), Err(404), "{method} {uri}");
        }
    }

    #[test]
    fn the_network_is_refused() {
        assert_eq!(route("CONNECT", "example.org:443"), Err(403));
        assert_eq!(route("GET", "http://example.org/v1/models"), Err(403));
    }
}
