//! A Rust file split into what the rules ask about: code, string literals, test parts, functions.

use std::ops::Range;

/// One `.rs` file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the workspace's root, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments and the insides of literals blanked; same length, same lines.
    pub code: String,
    /// Line and content of every string literal.
    pub strings: Vec<(usize, String)>,
    /// Byte ranges of items under `#[cfg(test)]`.
    tests: Vec<Range<usize>>,
}

/// A function with its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    /// From the line of `fn` to the line of its closing brace.
    pub lines: usize,
    pub test: bool,
}

// === impl Source ===

impl Source {
    #[must_use]
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let (code, strings) = Mask::of(&text);
        let tests = test_items(&code);
        Self {
            path,
            text,
            code,
            strings,
            tests,
        }
    }

    /// Whether the file holds nothing but tests.
    #[must_use]
    pub fn is_test_file(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.split('/').any(|part| part == "tests") && !self.path.starts_with("tests/src/")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
    }

    #[must_use]
    pub fn in_test(&self, at: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|range| range.contains(&at))
    }

    #[must_use]
    pub fn line_of(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    /// Lines outside test items.
    #[must_use]
    pub fn production_lines(&self) -> usize {
        if self.is_test_file() {
            return 0;
        }
        let of = |range: &Range<usize>| self.code[range.clone()].lines().count();
        self.text
            .lines()
            .count()
            .saturating_sub(self.tests.iter().map(of).sum())
    }

    /// Where `needle` stands in the code as a whole word (or words).
    pub fn find_word<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        self.code.match_indices(needle).filter_map(move |(at, _)| {
            let before = self.code[..at].chars().next_back();
            let after = self.code[at + needle.len()..].chars().next();
            let starts = needle.starts_with(word) && before.is_some_and(word);
            let ends = needle.ends_with(word) && after.is_some_and(word);
            (!starts && !ends).then_some(at)
        })
    }

    /// Every function that has a body.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        self.find_word("fn")
            .filter_map(|at| {
                let rest = &self.code[at + 2..];
                let name: String = rest
                    .trim_start()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let open = body_start(&self.code, at)?;
                let close = matching_brace(&self.code, open)?;
                let line = self.line_of(at);
                (!name.is_empty()).then(|| Function {
                    name,
                    line,
                    lines: self.line_of(close) - line + 1,
                    test: self.in_test(at),
                })
            })
            .collect()
    }
}

/// The `{` of the function at `at`, or none when it is a mere signature.
fn body_start(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at + offset),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn matching_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, byte) in code[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + offset);
                }
            }
            _ => {}
        }
    }
    None
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    code.match_indices("#[cfg(test)]")
        .map(|(at, _)| {
            let end = body_start(code, at + "#[cfg(test)]".len())
                .and_then(|open| matching_brace(code, open))
                .unwrap_or(at);
            at..end + 1
        })
        .collect()
}

/// Blanks comments and literals.
struct Mask<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    code: Vec<u8>,
    strings: Vec<(usize, String)>,
}

// === impl Mask ===

impl<'a> Mask<'a> {
    fn of(text: &'a str) -> (String, Vec<(usize, String)>) {
        let mut mask = Self {
            text: text.as_bytes(),
            at: 0,
            line: 1,
            code: Vec::with_capacity(text.len()),
            strings: Vec::new(),
        };
        while mask.at < mask.text.len() {
            mask.step();
        }
        (
            String::from_utf8_lossy(&mask.code).into_owned(),
            mask.strings,
        )
    }

    fn step(&mut self) {
        let rest = &self.text[self.at..];
        match rest {
            [b'/', b'/', ..] => {
                let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                self.blank(end);
            }
            [b'/', b'*', ..] => self.block_comment(),
            [b'"', ..] => self.string(),
            [b'r', b'"' | b'#', ..] if !self.after_word() => self.raw_string(),
            [b'b', b'r', b'"' | b'#', ..] if !self.after_word() => {
                self.keep(1);
                self.raw_string();
            }
            [b'\'', ..] => self.char_or_lifetime(),
            _ => self.keep(1),
        }
    }

    fn after_word(&self) -> bool {
        self.code
            .last()
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
    }

    fn keep(&mut self, bytes: usize) {
        for byte in &self.text[self.at..self.at + bytes] {
            self.line += usize::from(*byte == b'\n');
            // Keeps the mask's length and its being UTF-8.
            self.code.push(if byte.is_ascii() { *byte } else { b'_' });
        }
        self.at += bytes;
    }

    fn blank(&mut self, bytes: usize) {
        for byte in &self.text[self.at..self.at + bytes] {
            self.line += usize::from(*byte == b'\n');
            self.code.push(if *byte == b'\n' { b'\n' } else { b' ' });
        }
        self.at += bytes;
    }

    fn block_comment(&mut self) {
        let (mut depth, mut end) = (0, 0);
        let rest = &self.text[self.at..];
        while end < rest.len() {
            match &rest[end..] {
                [b'/', b'*', ..] => (depth, end) = (depth + 1, end + 2),
                [b'*', b'/', ..] => (depth, end) = (depth - 1, end + 2),
                _ => end += 1,
            }
            if depth == 0 {
                break;
            }
        }
        self.blank(end);
    }

    fn string(&mut self) {
        let rest = &self.text[self.at + 1..];
        let mut end = 0;
        while end < rest.len() && rest[end] != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        self.literal(end.min(rest.len()), 1);
    }

    fn raw_string(&mut self) {
        let hashes = self.text[self.at + 1..]
            .iter()
            .take_while(|b| **b == b'#')
            .count();
        if self.text.get(self.at + 1 + hashes) != Some(&b'"') {
            return self.keep(1); // a raw identifier
        }
        self.keep(1 + hashes);
        let close: Vec<u8> = std::iter::once(b'"')
            .chain(std::iter::repeat_n(b'#', hashes))
            .collect();
        let rest = &self.text[self.at + 1..];
        let end = rest
            .windows(close.len())
            .position(|window| window == close)
            .unwrap_or(rest.len());
        self.literal(end, 1);
    }

    /// An opening quote, `inside` bytes, and the closing quote.
    fn literal(&mut self, inside: usize, quote: usize) {
        self.keep(quote);
        let content = String::from_utf8_lossy(&self.text[self.at..self.at + inside]).into_owned();
        self.strings.push((self.line, content));
        self.blank(inside);
        self.keep(quote.min(self.text.len() - self.at));
    }

    fn char_or_lifetime(&mut self) {
        let rest = &self.text[self.at + 1..];
        let end = match rest {
            [b'\\', ..] => rest.iter().skip(2).position(|b| *b == b'\'').map(|n| n + 2),
            // At most four bytes of one character before the closing quote, else a lifetime.
            _ => rest.iter().take(5).position(|b| *b == b'\'').filter(|n| {
                *n > 0 && std::str::from_utf8(&rest[..*n]).is_ok_and(|s| s.chars().count() == 1)
            }),
        };
        match end {
            Some(inside) => {
                self.keep(1);
                self.blank(inside);
                self.keep(1);
            }
            None => self.keep(1),
        }
    }
}
