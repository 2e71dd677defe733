//! The wake prompt: as little as the engine needs to begin. One header line of the hive's, then
//! nothing but the sender's text, then maybe how much more waits. The system prompt says that all
//! text below the header is the sender's, so a header inside it means nothing.

use std::path::Path;

use hive_proto::mail::{Mail, pending_hint};

/// What a wake prompt is made of.
#[derive(Clone, Copy, Debug)]
pub struct Wake<'a> {
    pub id: i64,
    pub from: &'a str,
    pub in_reply_to: Option<i64>,
    pub redelivered: bool,
    /// Rows that still wait behind this one.
    pub unread: u32,
    pub body: Body<'a>,
}

/// The message's text, or where it lies.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    Inline(&'a str),
    /// Too long for a prompt: it was written to this file.
    Spilled {
        path: &'a Path,
        bytes: usize,
    },
}

/// The text that starts a turn.
#[must_use]
pub fn wake(message: &Wake<'_>) -> String {
    let mail = Mail {
        id: message.id,
        from: message.from.to_owned(),
        in_reply_to: message.in_reply_to,
        redelivered: message.redelivered,
        body: match message.body {
            Body::Inline(text) => text.to_owned(),
            Body::Spilled { path, bytes } => spilled(path, bytes),
        },
    };
    match message.unread {
        0 => mail.to_string(),
        unread => format!("{mail}\n\n{}", pending_hint(unread)),
    }
}

/// What stands for a body that lies in a file.
fn spilled(path: &Path, bytes: usize) -> String {
    format!(
        "(The text has {bytes} bytes and is in the file {})",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Body, Wake, wake};

    fn message(body: Body<'_>) -> Wake<'_> {
        Wake {
            id: 12,
            from: "alice",
            in_reply_to: None,
            redelivered: false,
            unread: 0,
            body,
        }
    }

    #[test]
    fn the_smallest_prompt() {
        assert_eq!(
            wake(&message(Body::Inline("plan a picnic"))),
            "[message 12 from alice]\nplan a picnic"
        );
    }

    #[test]
    fn everything_at_once() {
        let all = Wake {
            in_reply_to: Some(7),
            redelivered: true,
            unread: 2,
            ..message(Body::Spilled {
                path: Path::new("/state/inbox/12.md"),
                bytes: 20_000,
            })
        };
        assert_eq!(
            wake(&all),
            "[message 12 from alice in reply to 7, redelivered]\n(The text has 20000 bytes and is \
             in the file /state/inbox/12.md)\n\n(2 more pending: drain them with mcp__hive__recv)"
        );
    }
}
