//! Which headers pass the gateway, in each direction.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Headers about one connection only (RFC 9110, 7.6.1), and those that name somebody's network.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
];

/// What an agent says of itself is not passed on: who calls is the gateway's word alone.
const REPLACED: [&str; 8] = [
    "authorization",
    "x-api-key",
    "cookie",
    "host",
    "forwarded",
    "via",
    "x-real-ip",
    // The usage is read from the response on its way, so it has to come uncompressed.
    "accept-encoding",
];

/// The request's headers for the upstream, still without a key.
pub(super) fn to_upstream(from: &HeaderMap) -> HeaderMap {
    let mut to = passing(from, |name| {
        REPLACED.contains(&name) || name.starts_with("x-forwarded-")
    });
    to.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    to
}

/// The response's headers for the agent.
pub(super) fn to_agent(from: &HeaderMap) -> HeaderMap {
    passing(from, |name| name == "set-cookie" || name == "alt-svc")
}

fn passing(from: &HeaderMap, stays: impl Fn(&str) -> bool) -> HeaderMap {
    let named: Vec<String> = from
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let passes = |name: &HeaderName| {
        let name = name.as_str();
        !HOP_BY_HOP.contains(&name) && !named.iter().any(|other| other == name) && !stays(name)
    };
    let pairs = from.iter().filter(|(name, _)| passes(name));
    let mut to = HeaderMap::new();
    for (name, value) in pairs {
        to.append(name.clone(), value.clone());
    }
    to
}

#[cfg(test)]
mod tests {
    use super::{to_agent, to_upstream};
    use http::HeaderMap;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn an_agents_credentials_stay() {
        let from = headers(&[
            ("authorization", "Bearer fake"),
            ("x-api-key", "fake"),
            ("cookie", "a=b"),
            ("proxy-authorization", "Basic x"),
            ("host", "127.0.0.1:1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("connection", "close, X-Secret"),
            ("x-secret", "1"),
            ("transfer-encoding", "chunked"),
            ("accept-encoding", "gzip"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
            ("content-length", "5"),
        ]);
        let expected = headers(&[
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
            ("content-length", "5"),
            ("accept-encoding", "identity"),
        ]);
        assert_eq!(to_upstream(&from), expected);
    }

    #[test]
    fn an_upstreams_cookies_stay() {
        let from = headers(&[
            ("set-cookie", "a=b"),
            ("connection", "keep-alive"),
            ("retry-after", "3"),
            ("request-id", "req_1"),
        ]);
        let expected = headers(&[("retry-after", "3"), ("request-id", "req_1")]);
        assert_eq!(to_agent(&from), expected);
    }
}
