//! Reads a request of the Messages API: which message is being answered, and how far it has come.

use hive_proto::mail::Mail;
use hive_proto::script::Incoming;
use serde::Deserialize;
use serde_json::Value;

use super::summary;
use super::tools::Place;

/// Texts that an engine puts in by itself: they continue a turn and never begin one.
const SYNTHETIC: [&str; 5] = [
    "<system-reminder>",
    "Your response above was cut off mid-stream",
    "Output token limit hit",
    "The user sent a new message while you were working",
    "[Request interrupted by user",
];

/// How such a text begins and ends within another one.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// What a request says, as far as a script needs it.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) asks: Asks,
    pub(super) model: String,
    pub(super) delivery: Delivery,
    /// A rough count, so that usage is not empty: a quarter of the request's bytes.
    pub(super) input_tokens: u64,
}

/// What the engine wants.
#[derive(Debug)]
pub(super) enum Asks {
    /// The next answer to a message.
    Answer {
        incoming: Incoming,
        /// Results of tool calls since the prompt, oldest first.
        results: Vec<(Place, String)>,
    },
    /// A summary of a conversation that grew too long: its message, if it has one, and the results
    /// since.
    Summary {
        mail: Option<Mail>,
        results: Vec<(Place, String)>,
    },
}

/// How the engine wants the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Events,
    Document,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

// === impl Conversation ===

impl Conversation {
    /// Reads a request's body; the error is one lower-case sentence.
    pub(super) fn read(agent: &str, body: &[u8]) -> Result<Self, String> {
        let request: Request = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        Ok(Self {
            asks: asks(agent, &request.messages),
            model: request.model,
            delivery: match request.stream {
                true => Delivery::Events,
                false => Delivery::Document,
            },
            input_tokens: (body.len() / 4) as u64,
        })
    }
}

fn asks(agent: &str, messages: &[Message]) -> Asks {
    let users = messages.iter().enumerate();
    let users = users.filter(|(_, message)| message.role == "user");
    let mut prompts: Vec<(usize, String)> = users
        .filter_map(|(at, message)| prompt(&message.content).map(|text| (at, text)))
        .collect();
    let asked = prompts
        .last()
        .is_some_and(|(_, text)| summary::is_asked(text));
    if asked {
        prompts.pop();
    }
    let Some((at, text)) = prompts.last() else {
        let (mail, results) = (None, Vec::new());
        return Asks::Summary { mail, results };
    };
    let (text, mut results) = summary::read(text);
    let behind = messages.iter().skip(at + 1);
    results.extend(behind.flat_map(|message| results_in(&message.content)));
    let mail = Mail::find(text);
    match asked {
        true => Asks::Summary { mail, results },
        false => Asks::Answer {
            incoming: incoming(agent, mail, text, prompts.len()),
            results,
        },
    }
}

/// The message that a prompt delivers. A prompt that is none of hive's counts as the operator's,
/// numbered within its conversation.
fn incoming(agent: &str, mail: Option<Mail>, text: &str, number: usize) -> Incoming {
    let mail = mail.unwrap_or_else(|| Mail {
        id: i64::try_from(number).unwrap_or(i64::MAX),
        from: "operator".to_owned(),
        in_reply_to: None,
        redelivered: false,
        body: text.to_owned(),
    });
    Incoming {
        agent: agent.to_owned(),
        from: mail.from,
        id: mail.id,
        body: mail.body,
        redelivered: mail.redelivered,
    }
}

/// What a user's message says, unless an engine put it in by itself.
fn prompt(content: &Content) -> Option<String> {
    let real = |text: &str| {
        !SYNTHETIC
            .iter()
            .any(|word| text.trim_start().starts_with(word))
    };
    let texts: Vec<&str> = match content {
        Content::Text(text) => vec![text.as_str()],
        Content::Blocks(blocks) => blocks.iter().filter_map(text_of).collect(),
    };
    let texts: Vec<&str> = texts.into_iter().filter(|text| real(text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn text_of(block: &Value) -> Option<&str> {
    (block["type"] == "text").then(|| block["text"].as_str())?
}

/// The results of our tool calls in one message.
fn results_in(content: &Content) -> Vec<(Place, String)> {
    let Content::Blocks(blocks) = content else {
        return Vec::new();
    };
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .filter_map(|block| {
            let place = Place::of(block["tool_use_id"].as_str()?)?;
            let text = match &block["content"] {
                Value::String(text) => text.clone(),
                Value::Array(inner) => {
                    let texts: Vec<&str> = inner.iter().filter_map(text_of).collect();
                    texts.join("\n")
                }
                _ => String::new(),
            };
            Some((place, without_reminder(&text).to_owned()))
        })
        .collect()
}

/// A tool's result without what an engine has written behind it for the model: Claude Code tells it there
/// how many tokens are left, in the tool's own block.
fn without_reminder(text: &str) -> &str {
    let (open, close) = REMINDER;
    match text.rfind(open) {
        Some(start) if text.trim_end().ends_with(close) => text[..start].trim_end(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::without_reminder;

    #[test]
    fn a_tools_result_is_what_the_tool_said() {
        let said = "{\"answer\":\"fish\"}";
        let reminder = "<system-reminder>\n<total_tokens>1 left</total_tokens>\n</system-reminder>";
        assert_eq!(without_reminder(&format!("{said}\n\n{reminder}")), said);
        assert_eq!(without_reminder(&format!("{said}\n{reminder}\n")), said);
        assert_eq!(without_reminder(said), said);
        // A tool may speak of one.
        let quoted = format!("{reminder} is what it wrote");
        assert_eq!(without_reminder(&quoted), quoted);
    }
}
