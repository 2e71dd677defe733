//! The canonical form: one value, one sequence of bytes.
//!
//! JSON in UTF-8 without white space; the keys of an object in the order of their code points;
//! numbers are whole; in strings `"` and `\` are escaped as such, `\b \t \n \f \r` in their short
//! form, and every other control, format or separator character (Cc, Cf, Zl, Zp) as `\uXXXX`. So the
//! bytes can be printed as they are: nothing in them steers a terminal or hides from a reader.

use hive_proto::hidden::{is_hidden, push_json_escape};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A value that has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number that is not whole has no canonical form")]
pub struct NotCanonical;

/// The canonical bytes of a value.
///
/// # Errors
/// When there is a number in it that is not whole.
pub fn canonical(value: &Value) -> Result<String, NotCanonical> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn digest(bytes: &str) -> String {
    Sha256::digest(bytes.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn write(value: &Value, out: &mut String) -> Result<(), NotCanonical> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            out.push_str(&number.to_string());
        }
        Value::Number(_) => return Err(NotCanonical),
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(at, out);
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            // Not left to the map, whose order is a matter of a crate's features.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                separate(at, out);
                string(key, out);
                out.push(':');
                write(item, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn separate(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => push_json_escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use hive_proto::hidden::is_hidden;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{NotCanonical, canonical, digest};

    #[test]
    fn keys_are_sorted_and_numbers_are_whole() {
        let value = json!({"b": [1, -2, null, true], "a": {"ä": "x", "z": 0}});
        assert_eq!(
            canonical(&value).unwrap(),
            r#"{"a":{"z":0,"ä":"x"},"b":[1,-2,null,true]}"#
        );
        assert_eq!(canonical(&json!({"a": [1.5]})), Err(NotCanonical));
    }

    #[test]
    fn nothing_in_it_steers_a_terminal() {
        let bytes = canonical(&json!("a\u{202e}\u{1b}[2J\n\u{e0041}é\"\\")).unwrap();
        assert_eq!(bytes, "\"a\\u202e\\u001b[2J\\n\\udb40\\udc41é\\\"\\\\\"");
    }

    #[test]
    fn the_digest_is_what_sha256sum_says() {
        assert_eq!(
            digest("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// It means the same, is printable, and is a fixed point.
        #[test]
        fn it_means_the_same_and_has_one_spelling(value in any_value()) {
            let bytes = canonical(&value).unwrap();
            let again: Value = serde_json::from_str(&bytes).unwrap();
            prop_assert_eq!(&again, &value);
            prop_assert_eq!(canonical(&again).unwrap(), bytes.clone());
            prop_assert!(!bytes.chars().any(is_hidden));
        }
    }
}
