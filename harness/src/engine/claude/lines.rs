//! Splits a byte stream into lines of bounded length.
//!
//! A line over the cap is not an error: its beginning is kept, the rest is dropped, and the line is
//! marked. Lines are cut as bytes and decoded whole, so that a character split between two reads
//! stays whole.

use std::collections::VecDeque;

/// Longest line that is kept whole: 16 MiB. The real program has been seen to print 300 KB.
pub(super) const LINE_BYTES: usize = 16 * 1024 * 1024;

/// One line without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawLine {
    Whole(Vec<u8>),
    /// The first bytes of a line that was longer than the cap, and how many bytes were dropped.
    Cut {
        head: Vec<u8>,
        dropped: u64,
    },
}

/// Takes bytes as they come and gives lines as they end.
#[derive(Debug)]
pub(super) struct LineSplitter {
    cap: usize,
    current: Vec<u8>,
    dropped: u64,
    ready: VecDeque<RawLine>,
}

// === impl LineSplitter ===

impl LineSplitter {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            cap,
            current: Vec::new(),
            dropped: 0,
            ready: VecDeque::new(),
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.append(&rest[..end]);
            self.finish();
            rest = &rest[end + 1..];
        }
        self.append(rest);
    }

    /// The stream has ended: what has no line end is a line too.
    pub(super) fn end(&mut self) {
        if !self.current.is_empty() {
            self.finish();
        }
    }

    pub(super) fn pop(&mut self) -> Option<RawLine> {
        self.ready.pop_front()
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = self.cap - self.current.len();
        let kept = bytes.len().min(room);
        self.current.extend_from_slice(&bytes[..kept]);
        self.dropped += (bytes.len() - kept) as u64;
    }

    fn finish(&mut self) {
        let head = std::mem::take(&mut self.current);
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            self.ready.push_back(RawLine::Cut { head, dropped });
        } else if !head.iter().all(u8::is_ascii_whitespace) {
            self.ready.push_back(RawLine::Whole(head));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> RawLine {
        RawLine::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_out_however_the_bytes_were_split() {
        let text = "{\"a\":\"grün\"}\n\n{\"b\":1}\nlast";
        for size in 1..text.len() {
            let mut lines = LineSplitter::new(100);
            for chunk in text.as_bytes().chunks(size) {
                lines.feed(chunk);
            }
            lines.end();
            let got: Vec<_> = std::iter::from_fn(|| lines.pop()).collect();
            let want = ["{\"a\":\"grün\"}", "{\"b\":1}", "last"].map(whole);
            assert_eq!(got, want, "chunks of {size}");
        }
    }

    #[test]
    fn an_overlong_line_is_cut_and_marked_and_the_next_one_is_whole() {
        let mut lines = LineSplitter::new(4);
        lines.feed(b"abcd");
        lines.feed(b"efg\nxy\n");
        let cut = RawLine::Cut {
            head: b"abcd".to_vec(),
            dropped: 3,
        };
        assert_eq!(lines.pop(), Some(cut));
        assert_eq!(lines.pop(), Some(whole("xy")));
        assert_eq!(lines.pop(), None);
    }
}
