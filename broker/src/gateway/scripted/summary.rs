//! The summary that Claude Code asks for when a conversation grew too long. It holds the prompt word
//! for word and every result so far, so that the turn goes on where it was.

use hive_proto::mail::Mail;

use super::tools::Place;

/// Begins the text by which Claude Code asks for a summary of the conversation.
const ASKED: &str = "Your task is to create a detailed summary";
/// Ends the prompt.
const END: &str = "\n(end of the message)\n";
const RESULT: &str = "(result of ";

/// Whether a prompt asks for a summary.
pub(super) fn is_asked(prompt: &str) -> bool {
    prompt.contains(ASKED) && Mail::find(prompt).is_none()
}

/// The answer to a prompt that asks for a summary.
pub(super) fn write(mail: Option<&Mail>, results: &[(Place, String)]) -> String {
    let mail = mail.map(|mail| format!("{mail}{END}")).unwrap_or_default();
    let results = results.iter().map(|(place, text)| {
        let text = serde_json::Value::from(text.as_str());
        format!("{RESULT}{}: {text})\n", place.id())
    });
    let results: String = results.collect();
    format!("<analysis>All of it is here.</analysis>\n<summary>\n{mail}{results}</summary>")
}

/// The prompt without what stands behind it in a summary, and the results that the summary holds.
pub(super) fn read(prompt: &str) -> (&str, Vec<(Place, String)>) {
    let Some((before, behind)) = prompt.split_once(END) else {
        return (prompt, Vec::new());
    };
    let results = behind.lines().filter_map(|line| {
        let line = line.strip_prefix(RESULT)?.strip_suffix(')')?;
        let (id, text) = line.split_once(": ")?;
        Some((Place::of(id)?, serde_json::from_str(text).ok()?))
    });
    (before, results.collect())
}

#[cfg(test)]
mod tests {
    use super::{Place, is_asked, read, write};
    use hive_proto::mail::Mail;

    #[test]
    fn a_summary_keeps_the_prompt_and_the_results() {
        let mail = Mail {
            id: 7,
            from: "cook".to_owned(),
            in_reply_to: None,
            redelivered: false,
            body: "two\nlines".to_owned(),
        };
        let results = vec![
            (Place { rule: 1, step: 0 }, "a \"b\"\n): c".to_owned()),
            (Place { rule: 1, step: 2 }, String::new()),
        ];
        let text = format!("It goes on.\n{}\nResume.", write(Some(&mail), &results));
        let (prompt, read_back) = read(&text);
        assert_eq!(Mail::find(prompt), Some(mail));
        assert_eq!(read_back, results);
        assert!(!is_asked(&text));
    }
}
