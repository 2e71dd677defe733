//! How each kind of receiver wants to have a notification: one request of plain headers and a body.

use http::HeaderValue;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use serde_json::json;

use super::notice::Notice;
use super::settings::Format;

/// What is posted, without signature and token.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// The notification as the receiver wants it. `payload` is the document as it was stored.
pub(super) fn shape(format: Format, notice: &Notice, payload: &str) -> Shape {
    match format {
        Format::Hive => Shape {
            headers: typed("application/json"),
            body: payload.as_bytes().to_vec(),
        },
        Format::Ntfy => ntfy(notice),
        Format::Slack => Shape {
            headers: typed("application/json"),
            body: slack(notice).into_bytes(),
        },
    }
}

fn typed(content_type: &'static str) -> HeaderMap {
    let value = HeaderValue::from_static(content_type);
    HeaderMap::from_iter([(CONTENT_TYPE, value)])
}

/// Title, priority and tag are headers, the text is the body; the topic is the URL's path.
fn ntfy(notice: &Notice) -> Shape {
    let mut headers = typed("text/plain; charset=utf-8");
    let priority = match notice.data.urgency.as_str() {
        "high" => "high",
        _ => "default",
    };
    let fields = [
        ("title", notice.data.title.as_str()),
        ("priority", priority),
        ("tags", notice.data.kind.as_str()),
    ];
    for (name, value) in fields {
        // Titles are hive's own words: all of it can stand in a header.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    Shape {
        headers,
        body: notice.data.text.clone().into_bytes(),
    }
}

fn slack(notice: &Notice) -> String {
    let text = format!("*{}*\n{}", notice.data.title, notice.data.text);
    // What an agent wrote must not call a whole channel together (`<!channel>`).
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    json!({ "text": text }).to_string()
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::super::notice::Notice;
    use super::{Format, shape};
    use crate::model::concern::Concern;
    use crate::store::outbox::Item;

    fn notice() -> Notice {
        let item = Item {
            ref_id: 0,
            agent: "bee".into(),
            text: "bee has failed: <!channel> & co".into(),
            quote: String::new(),
            at: UnixMs(1),
        };
        Notice::of("msg_1", Concern::FailedAgent.rule(), &[item], UnixMs(1))
    }

    #[test]
    fn ntfy_has_headers_and_a_plain_body() {
        let shape = shape(Format::Ntfy, &notice(), "");
        let header = |name: &str| shape.headers.get(name).unwrap().to_str().unwrap();
        assert_eq!(header("title"), "hive: an agent has failed");
        assert_eq!(header("priority"), "high");
        assert_eq!(header("tags"), "failed_agent");
        assert_eq!(shape.body, b"bee has failed: <!channel> & co");
    }

    #[test]
    fn slack_pings_nobody() {
        let body = shape(Format::Slack, &notice(), "").body;
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            value["text"],
            "*hive: an agent has failed*\nbee has failed: &lt;!channel&gt; &amp; co"
        );
    }

    #[test]
    fn hives_own_form_is_the_document_as_it_was_stored() {
        let notice = notice();
        let payload = notice.json();
        assert_eq!(
            shape(Format::Hive, &notice, &payload).body,
            payload.as_bytes()
        );
    }
}
