//! Characters that a reader does not see, or that steer what shows them.

use std::fmt::Write as _;

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

/// Whether a character is of the categories Cc, Cf, Zl or Zp.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}')
        || FORMAT
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&code))
}

/// Appends a character as JSON writes it escaped: `\u202e`, or a pair of those.
pub fn push_json_escape(out: &mut String, c: char) {
    let mut units = [0; 2];
    for unit in c.encode_utf16(&mut units) {
        // Writing to a string cannot fail.
        _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, push_json_escape};

    #[test]
    fn every_character_of_the_categories_is_hidden_and_no_other() {
        let hidden = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$").unwrap();
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert_eq!(hidden.is_match(&text), is_hidden(c), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn json_reads_an_escape_as_its_character() {
        for c in ['\0', '\u{202e}', '\u{e0041}'] {
            let mut document = String::from("\"");
            push_json_escape(&mut document, c);
            document.push('"');
            assert_eq!(
                serde_json::from_str::<String>(&document).unwrap(),
                c.to_string()
            );
        }
    }
}
