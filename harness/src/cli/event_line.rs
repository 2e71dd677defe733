//! One event as one line.

use hive_proto::v1::Event;
use serde_json::Value;

use super::{escape, when};

/// `SEQ TIME KIND AGENT key=value …`; what agents wrote is escaped.
#[must_use]
pub(super) fn text(event: &Event) -> String {
    let mut parts = vec![
        event.seq.to_string(),
        when::utc(event.at_ms),
        escape::line(&event.kind),
    ];
    if !event.agent.is_empty() {
        parts.push(escape::line(&event.agent));
    }
    if let Ok(Value::Object(data)) = serde_json::from_str(&event.data_json) {
        let empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        let shown = data.iter().filter(|(_, value)| !empty(value));
        parts.extend(shown.map(|(key, value)| format!("{}={}", escape::line(key), plain(value))));
    }
    parts.join("  ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let text = escape::line(text);
            if text.contains([' ', '"', '=']) {
                format!("\"{}\"", text.replace('"', "\\\""))
            } else {
                text
            }
        }
        other => escape::line(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::Event;

    use super::text;

    #[test]
    fn data_becomes_words_and_cannot_break_the_line() {
        let event = Event {
            seq: 5,
            at_ms: 1_700_000_000_000,
            kind: "turn.ended".to_owned(),
            agent: "scout".to_owned(),
            data_json:
                r#"{"turn":3,"outcome":"ok","detail":"a \n\u001b[2Jb","none":null,"empty":""}"#
                    .to_owned(),
        };
        insta::assert_snapshot!(text(&event), @r#"
        5  2023-11-14 22:13:20Z  turn.ended  scout  detail="a \n\u{1b}[2Jb"  outcome=ok  turn=3
        "#);
    }
}
