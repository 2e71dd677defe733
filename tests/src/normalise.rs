//! Makes output comparable: what differs from run to run becomes a placeholder.

/// Replaces times, hexadecimal ids and the hive's own directories.
#[must_use]
pub fn normalise(text: &str, home: &str, run: &str) -> String {
    let text = text.replace(home, "[HOME]").replace(run, "[RUN]");
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\n', '"', ',', '(', ')']) {
        let end = word.trim_end_matches([' ', '\n', '"', ',', '(', ')']);
        out.push_str(&placeholder(end));
        out.push_str(&word[end.len()..]);
    }
    out
}

fn placeholder(word: &str) -> String {
    if word.parse::<jiff::Timestamp>().is_ok() {
        return "[TIME]".to_owned();
    }
    let hex = word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit());
    if hex {
        return "[ID]".to_owned();
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn times_ids_and_paths_become_placeholders() {
        let text = "at 2026-01-02T03:04:05.678Z \"0123456789abcdef\" in /tmp/x/h/hive.db 42";
        assert_eq!(
            normalise(text, "/tmp/x/h", "/tmp/x/r"),
            "at [TIME] \"[ID]\" in [HOME]/hive.db 42"
        );
    }
}
