//! Aligned tables that fit 100 columns: free text is cut, ids, names and states never are.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escape;
use super::output::{Tone, paint};

/// Columns of a line.
const WIDTH: usize = 100;
/// Free text is never cut below this.
const LEAST: usize = 12;

/// How a column uses its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Never cut.
    Whole(&'static str),
    /// Never cut, aligned to the right.
    Number(&'static str),
    /// Cut to what the others leave.
    Free(&'static str),
}

/// One cell; what it shows is one escaped line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

/// Rows under their titles.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

// === impl Column ===

impl Column {
    fn title(self) -> &'static str {
        match self {
            Self::Whole(title) | Self::Number(title) | Self::Free(title) => title,
        }
    }
}

// === impl Cell ===

impl Cell {
    pub(super) fn toned(tone: Tone, text: &str) -> Self {
        Self {
            text: escape::line(text),
            tone,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::toned(Tone::Plain, text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

// === impl Table ===

impl Table {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// One row; it has a cell for each column.
    pub(super) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.rows.push(cells.into());
    }

    /// The lines, each with its end. Columns that are empty in every row are left out.
    #[must_use]
    pub(super) fn render(&self) -> String {
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|&i| self.rows.is_empty() || self.rows.iter().any(|r| !r[i].text.is_empty()))
            .collect();
        let widths = self.widths(&used);
        let titles: Vec<Cell> = self.columns.iter().map(|c| c.title().into()).collect();
        let mut out = self.line(&titles, &used, &widths);
        for row in &self.rows {
            out.push_str(&self.line(row, &used, &widths));
        }
        out
    }

    fn widths(&self, used: &[usize]) -> Vec<usize> {
        let natural = |i: usize| {
            let cells = self.rows.iter().map(|row| row[i].text.width());
            cells
                .chain([self.columns[i].title().width()])
                .max()
                .unwrap_or(0)
        };
        let mut widths: Vec<usize> = used.iter().map(|&i| natural(i)).collect();
        let total =
            |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        // The widest free column gives way first.
        while total(&widths) > WIDTH {
            let widest = (0..used.len())
                .filter(|&at| {
                    matches!(self.columns[used[at]], Column::Free(_)) && widths[at] > LEAST
                })
                .max_by_key(|&at| widths[at]);
            let Some(at) = widest else { break };
            widths[at] -= 1;
        }
        widths
    }

    fn line(&self, cells: &[Cell], used: &[usize], widths: &[usize]) -> String {
        let mut out = String::new();
        for (at, &i) in used.iter().enumerate() {
            let text = cut(&cells[i].text, widths[at]);
            let room = " ".repeat(widths[at].saturating_sub(text.width()));
            let text = paint(cells[i].tone, &text);
            match self.columns[i] {
                Column::Number(_) => out.push_str(&format!("{room}{text}")),
                Column::Whole(_) | Column::Free(_) => out.push_str(&format!("{text}{room}")),
            }
            out.push_str("  ");
        }
        format!("{}\n", out.trim_end())
    }
}

/// `text` in at most `width` columns; what was cut is marked.
#[must_use]
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// Aligned `key  value` lines; values may have several lines. Empty values are left out.
#[must_use]
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
    let width = shown.clone().map(|(key, _)| key.width()).max().unwrap_or(0);
    shown
        .map(|(key, value)| {
            let indent = format!("\n{}", " ".repeat(width + 2));
            format!(
                "{key:width$}  {}\n",
                value.trim_end().replace('\n', &indent)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Column, Table, cut, pairs};

    #[test]
    fn free_text_gives_way_and_the_rest_does_not() {
        let mut table = Table::new(&[
            Column::Number("ID"),
            Column::Whole("STATE"),
            Column::Whole("EMPTY"),
            Column::Free("TEXT"),
        ]);
        table.row([
            "7".into(),
            "rate_limited".into(),
            "".into(),
            "one\nline ".repeat(30).into(),
        ]);
        table.row(["1234".into(), "idle".into(), "".into(), "短い".into()]);
        insta::assert_snapshot!(table.render(), @r"
          ID  STATE         TEXT
           7  rate_limited  one\nline one\nline one\nline one\nline one\nline one\nline one\nline one\nline…
        1234  idle          短い
        ");
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(cut("日本語日本語", 7), "日本語…");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn pairs_are_aligned_and_empty_ones_left_out() {
        let text = pairs(&[
            ("state", "idle".to_owned()),
            ("detail", String::new()),
            ("body", "a\nb\n".to_owned()),
        ]);
        assert_eq!(text, "state  idle\nbody   a\n       b\n");
    }
}
