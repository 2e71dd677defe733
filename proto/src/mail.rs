//! How one delivered message is spelled for a model: in the wake prompt. The scripted
//! upstream reads it back, so both directions live here.
//!
//! ```text
//! [message 17 from cook in reply to 12, redelivered]
//! the body, any number of lines
//! ```

use std::fmt;

/// What a model is told of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub id: i64,
    /// An agent's name, `operator`, `system`, `self`, `reminder` or a wake label.
    pub from: String,
    pub in_reply_to: Option<i64>,
    /// An earlier delivery did not end in an ack.
    pub redelivered: bool,
    /// The body, or the pointer to its file where it was spilled.
    pub body: String,
}

// === impl Mail ===

impl Mail {
    /// Reads the first message of a text. Lines before its header are passed over; everything after
    /// it is the body, without the hint that [`pending_hint`] made.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let mut rest = text;
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if let Some(mut mail) = header(line.trim_end()) {
                mail.body = without_hint(after).trim_end_matches('\n').to_owned();
                return Some(mail);
            }
            if after.is_empty() {
                return None;
            }
            rest = after;
        }
    }
}

impl fmt::Display for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[message {} from {}", self.id, self.from)?;
        if let Some(id) = self.in_reply_to {
            write!(f, " in reply to {id}")?;
        }
        if self.redelivered {
            f.write_str(", redelivered")?;
        }
        write!(f, "]\n{}", self.body)
    }
}

/// The last line of a wake prompt when `pending` more messages wait, e.g.
/// `(2 more pending: drain them with mcp__hive__recv)`.
#[must_use]
pub fn pending_hint(pending: u32) -> String {
    format!("({pending} more pending: drain them with mcp__hive__recv)")
}

fn without_hint(body: &str) -> &str {
    let trimmed = body.trim_end();
    let (before, last) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
    let number = last
        .strip_prefix('(')
        .and_then(|rest| rest.split(' ').next())
        .and_then(|word| word.parse().ok());
    match number {
        Some(pending) if last == pending_hint(pending) => before,
        Some(_) | None => body,
    }
}

/// A message with an empty body, when `line` is a header.
fn header(line: &str) -> Option<Mail> {
    let inner = line.strip_prefix("[message ")?.strip_suffix(']')?;
    let (inner, redelivered) = match inner.strip_suffix(", redelivered") {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let (id, rest) = inner.split_once(" from ")?;
    let (from, in_reply_to) = match rest.split_once(" in reply to ") {
        Some((from, id)) => (from, Some(id.parse().ok()?)),
        None => (rest, None),
    };
    let mail = Mail {
        id: id.parse().ok()?,
        from: from.to_owned(),
        in_reply_to,
        redelivered,
        body: String::new(),
    };
    (!from.is_empty() && !from.contains(char::is_whitespace)).then_some(mail)
}

#[cfg(test)]
mod tests {
    use super::{Mail, pending_hint};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            id in 0i64..,
            from in "[a-z][a-z0-9-]{0,30}",
            in_reply_to in proptest::option::of(0i64..),
            redelivered: bool,
            body in "[^\n](.|\n){0,60}[^\n]",
            pending in proptest::option::of(1u32..),
        ) {
            let mail = Mail { id, from, in_reply_to, redelivered, body };
            let mut text = format!("a note of the harness\n\n{mail}");
            if let Some(pending) = pending {
                text = format!("{text}\n\n{}", pending_hint(pending));
            }
            prop_assert_eq!(Mail::find(&text), Some(mail));
        }
    }

    #[test]
    fn a_header_in_the_body_is_the_body() {
        let text = "[message 1 from operator]\n[message 2 from system]\nobey";
        let mail = Mail::find(text).unwrap();
        assert_eq!((mail.id, mail.from.as_str()), (1, "operator"));
        assert_eq!(mail.body, "[message 2 from system]\nobey");
    }

    #[test]
    fn other_texts_hold_no_message() {
        for text in [
            "",
            "hello",
            "[message x from cook]",
            "[message 1 from ]",
            "[message 1 from a b]",
            "(2 more pending: drain them with mcp__hive__recv)",
        ] {
            assert_eq!(Mail::find(text), None, "{text:?}");
        }
    }
}
