//! What was measured: one table, one JSON document.

use std::fmt::Write as _;

use serde::Serialize;

use crate::load::Sample;
use crate::machine::Machine;
use crate::stats::{Spread, median, quantile};

/// One measured number.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub group: &'static str,
    pub what: String,
    /// `hive`, or what it is measured beside.
    pub who: &'static str,
    /// The median of the runs; none when it was skipped.
    pub value: Option<f64>,
    pub p99: Option<f64>,
    pub unit: &'static str,
    pub n: u64,
    pub note: String,
    /// hive's value ÷ this one.
    pub ratio: Option<f64>,
    pub verdicts: Vec<Verdict>,
}

/// How a number stands to its target.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// E.g. `≤ 1.5 × redis always`.
    pub target: String,
    pub met: bool,
    /// By how many percent it is missed; 0 when it is met.
    pub missed_by_percent: f64,
}

/// Everything.
#[derive(Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    /// Load of the machine before each group.
    pub loads: Vec<(String, String)>,
    pub seconds: u64,
    pub figures: Vec<Figure>,
}

// === impl Figure ===

impl Figure {
    /// One number.
    #[must_use]
    pub fn new(
        group: &'static str,
        what: impl Into<String>,
        who: &'static str,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self {
            group,
            what: what.into(),
            who,
            value: value.is_finite().then_some(value),
            p99: None,
            unit,
            n: 1,
            note: String::new(),
            ratio: None,
            verdicts: Vec::new(),
        }
    }

    /// Times in microseconds.
    #[must_use]
    pub fn spread(
        group: &'static str,
        what: impl Into<String>,
        who: &'static str,
        spread: Spread,
    ) -> Self {
        let mut figure = Self::new(group, what, who, spread.p50, "µs");
        figure.p99 = Some(spread.p99);
        figure.n = spread.n;
        figure
    }

    /// Single measurements of one thing, of which the median counts.
    #[must_use]
    pub fn of(
        group: &'static str,
        what: impl Into<String>,
        who: &'static str,
        values: &[f64],
        unit: &'static str,
    ) -> Self {
        let mut figure = Self::new(group, what, who, median(values), unit);
        figure.p99 = (values.len() > 1).then(|| quantile(values, 0.99));
        figure.n = values.len() as u64;
        figure
    }

    /// What could not be measured, and why.
    #[must_use]
    pub fn skipped(group: &'static str, what: &str, who: &'static str, why: &str) -> Self {
        let mut figure = Self::new(group, what, who, f64::NAN, "");
        figure.note = format!("skipped: {why}");
        figure.n = 0;
        figure
    }

    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// The figures of one load on one server.
#[must_use]
pub fn of_sample(
    group: &'static str,
    load: &str,
    who: &'static str,
    sample: &Sample,
) -> Vec<Figure> {
    let rate = Figure::new(
        group,
        format!("{load}: sent"),
        who,
        sample.sent_per_sec,
        "msg/s",
    );
    let mut figures = vec![
        Figure::spread(group, format!("{load}: send → answered"), who, sample.acked),
        rate,
    ];
    if sample.received.n > 0 {
        figures.push(Figure::spread(
            group,
            format!("{load}: send → received"),
            who,
            sample.received,
        ));
        figures.push(Figure::new(
            group,
            format!("{load}: received"),
            who,
            sample.received_per_sec,
            "msg/s",
        ));
    }
    figures
}

// === impl Report ===

impl Report {
    /// The value of one figure.
    #[must_use]
    pub fn value(&self, what: &str, who: &str) -> Option<f64> {
        let mut found = self.figures.iter();
        found
            .find(|figure| figure.what == what && figure.who == who)?
            .value
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> String {
        let head = ["what", "who", "value", "p99", "unit", "hive ÷ it", "target"];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(self.figures.iter().map(row));
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                rows.iter()
                    .map(|row| row[column].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        let mut group = "";
        for (at, row) in rows.iter().enumerate() {
            let of = at.checked_sub(1).map_or("", |at| self.figures[at].group);
            if of != group {
                group = of;
                let _ = writeln!(text, "\n{group}");
            }
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    2 | 3 | 5 => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                });
            let line: Vec<String> = cells.collect();
            let _ = writeln!(text, "  {}", line.join("  ").trim_end());
        }
        text
    }

    /// One line on the targets.
    #[must_use]
    pub fn summary(&self) -> String {
        let all: Vec<&Verdict> = self
            .figures
            .iter()
            .flat_map(|figure| &figure.verdicts)
            .collect();
        let met = all.iter().filter(|verdict| verdict.met).count();
        format!("{met} of {} targets met, in {} s", all.len(), self.seconds)
    }
}

fn row(figure: &Figure) -> [String; 7] {
    let value = match figure.value {
        Some(value) => number(value),
        None => "–".to_owned(),
    };
    let verdicts: Vec<String> = figure.verdicts.iter().map(ToString::to_string).collect();
    let mut last = verdicts.join("; ");
    if !figure.note.is_empty() {
        let gap = if last.is_empty() { "" } else { "  " };
        let _ = write!(last, "{gap}({})", figure.note);
    }
    [
        figure.what.clone(),
        figure.who.to_owned(),
        value,
        figure.p99.map(number).unwrap_or_default(),
        figure.unit.to_owned(),
        figure
            .ratio
            .map(|ratio| format!("{ratio:.2}"))
            .unwrap_or_default(),
        last,
    ]
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.met {
            true => write!(f, "{}: met", self.target),
            false => write!(
                f,
                "{}: MISSED by {:.0} %",
                self.target, self.missed_by_percent
            ),
        }
    }
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || value == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
