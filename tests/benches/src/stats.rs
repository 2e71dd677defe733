//! Numbers: times in histograms, medians of runs, and the clock that senders and receivers share.

use std::sync::OnceLock;
use std::time::Instant;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Times of one run.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

/// What is kept of many times, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    pub p50: f64,
    pub p99: f64,
    pub n: u64,
}

/// Nanoseconds since the program began.
#[must_use]
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The middle one; of an even number the upper of the two.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The value at `share` (0 to 1) of these.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = (share * last as f64).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

// === impl Times ===

impl Default for Times {
    fn default() -> Self {
        // Three digits are finer than any two runs agree.
        Self(Histogram::new(3).expect("three digits are valid"))
    }
}

impl Times {
    pub fn note(&mut self, nanos: u64) {
        // The histogram grows by itself: it was made without an upper bound.
        let _ = self.0.record(nanos.max(1));
    }

    pub fn merge(&mut self, other: &Self) {
        let _ = self.0.add(&other.0);
    }

    #[must_use]
    pub fn spread(&self) -> Spread {
        let us = |share| self.0.value_at_quantile(share) as f64 / 1000.0;
        match self.0.len() {
            0 => Spread::default(),
            n => Spread {
                p50: us(0.5),
                p99: us(0.99),
                n,
            },
        }
    }
}

// === impl Spread ===

impl Spread {
    /// The medians of several runs.
    #[must_use]
    pub fn of_runs(runs: &[Self]) -> Self {
        let middle = |of: fn(&Self) -> f64| median(&runs.iter().map(of).collect::<Vec<_>>());
        Self {
            p50: middle(|run| run.p50),
            p99: middle(|run| run.p99),
            n: runs.iter().map(|run| run.n).sum(),
        }
    }
}
