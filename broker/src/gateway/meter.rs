//! Reads the usage of a model call from its response, on the side, while the bytes pass.

use serde::Deserialize;

/// Longest line of an event stream that is looked at; usage lines are far shorter.
const LINE_BYTES: usize = 256 * 1024;
/// Longest whole JSON answer that is looked at.
const JSON_BYTES: usize = 4 * 1024 * 1024;

/// What is kept of a model's name.
const MODEL_CHARS: usize = 128;

/// Tokens of one model call, as the upstream counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Neither read from nor written to the cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// Takes a response's bytes as they come.
#[derive(Debug)]
pub(super) struct Meter {
    shape: Shape,
    held: Vec<u8>,
    /// The line or document is too long: it is passed over up to its end.
    skipping: bool,
    model: String,
    tokens: Tokens,
}

/// How the upstream answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `text/event-stream`
    Events,
    /// `application/json`
    Document,
    /// Nothing with a usage in it.
    Other,
}

/// The only fields that the gateway knows of an event or a whole answer.
#[derive(Deserialize)]
struct Known {
    message: Option<Message>,
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Message {
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

// === impl Shape ===

impl Shape {
    pub(super) fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "text/event-stream" => Self::Events,
            "application/json" => Self::Document,
            _ => Self::Other,
        }
    }
}

// === impl Meter ===

impl Meter {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            shape,
            held: Vec::new(),
            skipping: false,
            model: String::new(),
            tokens: Tokens::default(),
        }
    }

    /// Looks at the next piece.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        match self.shape {
            Shape::Other => {}
            Shape::Document => self.hold(bytes, JSON_BYTES),
            Shape::Events => {
                for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
                    self.hold(piece, LINE_BYTES);
                    if piece.ends_with(b"\n") {
                        self.line();
                    }
                }
            }
        }
    }

    /// What was counted, at the end of the response or where it broke off.
    pub(super) fn finish(mut self) -> (String, Tokens) {
        match self.shape {
            Shape::Document if !self.skipping => {
                let document = std::mem::take(&mut self.held);
                self.look(&document);
            }
            Shape::Events => self.line(),
            Shape::Document | Shape::Other => {}
        }
        (self.model, self.tokens)
    }

    fn hold(&mut self, bytes: &[u8], limit: usize) {
        if self.skipping || self.held.len() + bytes.len() > limit {
            self.skipping = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.held);
        self.skipping = false;
        if let Some(data) = line.strip_prefix(b"data:") {
            // Only two of many kinds of events carry a usage; the others are not parsed.
            if data.windows(7).any(|window| window == b"\"usage\"") {
                self.look(data);
            }
        }
        // The buffer is used again for the next line.
        self.held = line;
        self.held.clear();
    }

    /// Later counts replace earlier ones: a stream's are cumulative.
    fn look(&mut self, json: &[u8]) {
        let Ok(known) = serde_json::from_slice::<Known>(json) else {
            return;
        };
        let (model, usage) = match known.message {
            Some(message) => (message.model, message.usage),
            None => (known.model, known.usage),
        };
        if let Some(model) = model {
            self.model = model.chars().take(MODEL_CHARS).collect();
        }
        let Some(usage) = usage else { return };
        let tokens = &mut self.tokens;
        for (count, seen) in [
            (&mut tokens.input, usage.input_tokens),
            (&mut tokens.output, usage.output_tokens),
            (&mut tokens.cache_read, usage.cache_read_input_tokens),
            (&mut tokens.cache_write, usage.cache_creation_input_tokens),
        ] {
            *count = seen.unwrap_or(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, Meter, Shape, Tokens};
    use proptest::prelude::*;

    const STREAM: &str = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","model":"claude-haiku-5-5","usage":{"input_tokens":10,"cache_read_input_tokens":300,"cache_creation_input_tokens":20,"output_tokens":1}}}"#,
        "\n\nevent: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the word \"usage\": {}"}}"#,
        "\n\nevent: message_delta\r\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}"#,
        "\r\n\r\n",
    );

    const COUNTED: Tokens = Tokens {
        input: 10,
        output: 50,
        cache_read: 300,
        cache_write: 20,
    };

    proptest! {
        #[test]
        fn a_stream_is_counted_however_it_is_cut(size in 1usize..400) {
            let mut meter = Meter::new(Shape::of("text/event-stream; charset=utf-8"));
            for piece in STREAM.as_bytes().chunks(size) {
                meter.feed(piece);
            }
            prop_assert_eq!(meter.finish(), ("claude-haiku-5-5".to_owned(), COUNTED));
        }
    }

    #[test]
    fn a_document_is_counted() {
        let mut meter = Meter::new(Shape::of("application/json"));
        meter.feed(br#"{"model":"m","usage":{"input_tokens":3,"output_"#);
        meter.feed(br#"tokens":4}}"#);
        let tokens = Tokens {
            input: 3,
            output: 4,
            ..Tokens::default()
        };
        assert_eq!(meter.finish(), ("m".to_owned(), tokens));
    }

    #[test]
    fn a_line_without_end_holds_no_memory() {
        let mut meter = Meter::new(Shape::Events);
        for _ in 0..200 {
            meter.feed(&[b'x'; 64 * 1024]);
            assert!(meter.held.len() <= LINE_BYTES);
        }
        meter.feed(b"\n");
        meter.feed(STREAM.as_bytes());
        assert_eq!(meter.finish().1, COUNTED);
    }
}
