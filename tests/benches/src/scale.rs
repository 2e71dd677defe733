//! How much is measured: enough to mean something, or just enough to see that everything works.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub runs: usize,
    /// Length of one closed run.
    pub run: Duration,
    pub paced_messages: u32,
    pub idle: Duration,
    pub quiet: Duration,
    pub fleet: usize,
    pub agents_in_db: usize,
    pub turns: usize,
    pub rows: &'static [usize],
    pub pollers: &'static [usize],
    pub calls: u32,
}

// === impl Scale ===

impl Scale {
    #[must_use]
    pub fn full() -> Self {
        Self {
            runs: 5,
            run: Duration::from_millis(1500),
            paced_messages: 400,
            idle: Duration::from_secs(600),
            quiet: Duration::from_secs(30),
            fleet: 100,
            agents_in_db: 1000,
            turns: 10,
            rows: &[10_000, 100_000, 1_000_000],
            pollers: &[10, 100, 500],
            calls: 200,
        }
    }

    #[must_use]
    pub fn quick() -> Self {
        Self {
            runs: 1,
            run: Duration::from_millis(400),
            paced_messages: 60,
            idle: Duration::from_secs(5),
            quiet: Duration::from_secs(2),
            fleet: 5,
            agents_in_db: 50,
            turns: 2,
            rows: &[1_000, 10_000],
            pollers: &[2, 10],
            calls: 20,
        }
    }
}
