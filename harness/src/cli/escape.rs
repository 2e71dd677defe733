//! Makes what an agent wrote harmless for a terminal: control, format and direction characters are
//! shown, not obeyed.

/// Characters of the Unicode category Cf (format): invisible, or turning the direction of text.
const FORMAT: [(u32, u32); 21] = [
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
];

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
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
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

/// Cc, Cf, Zl and Zp.
fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}')
        || FORMAT
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::{block, is_hidden, json, line};

    #[test]
    fn every_character_of_the_categories_is_hidden_and_no_other() {
        let hidden = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$").unwrap();
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert_eq!(hidden.is_match(&text), is_hidden(c), "{:x}", u32::from(c));
        }
    }

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
