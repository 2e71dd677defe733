//! Makes what an agent wrote harmless for a terminal: control, format and direction characters are
//! shown, not obeyed.

use hive_proto::hidden::{is_hidden, push_json_escape};

/// What stays of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Nothing,
    LinesAndTabs,
}

/// As one line: line ends and tabs are shown too.
#[must_use]
pub(super) fn line(text: &str) -> String {
    escaped(text, Keep::Nothing)
}

/// As a block of text: line ends and tabs stay.
#[must_use]
pub(super) fn block(text: &str) -> String {
    escaped(text, Keep::LinesAndTabs)
}

/// A JSON document with the hidden characters in its strings written as JSON escapes; it means the
/// same. Outside of strings JSON has none of them but line ends.
#[must_use]
pub(super) fn json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        if c != '\n' && is_hidden(c) {
            push_json_escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    out
}

fn escaped(text: &str, keep: Keep) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if keep == Keep::LinesAndTabs => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{block, is_hidden, json, line};

    #[test]
    fn json_means_the_same_when_it_is_made_harmless() {
        let text = "a\u{202e}\u{9b}31m\u{e0041}\n\u{1b}é";
        let document = serde_json::to_string_pretty(&[text]).unwrap();
        let harmless = json(&document);
        assert!(harmless.chars().all(|c| c == '\n' || !is_hidden(c)));
        assert_eq!(
            serde_json::from_str::<[String; 1]>(&harmless).unwrap(),
            [text]
        );
    }

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(
            line("a\x1b[2Jb\u{202e}c\r\nd"),
            "a\\u{1b}[2Jb\\u{202e}c\\r\\nd"
        );
        assert_eq!(block("a\tb\nc\x07"), "a\tb\nc\\u{7}");
        assert_eq!(line("grüße, 世界 🎉"), "grüße, 世界 🎉");
    }
}
