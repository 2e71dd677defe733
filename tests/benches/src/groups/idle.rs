//! Nothing to do: whether anything happens all the same. Runs beside the other groups, since all it
//! looks at is its own processes and files.

use std::time::Instant;

use anyhow::Result;
use hive_tests::TestHive;
use hive_tests::wait::{SOON, pass};

use super::harness::ECHO;
use crate::procfs::{Usage, bytes_below, usage};
use crate::report::Figure;
use crate::scale::Scale;

const GROUP: &str = "idle";
const AGENTS: usize = 10;

/// A hive that was used and is left alone.
pub struct Idle {
    hive: TestHive,
    since: Instant,
    before: Look,
}

struct Look {
    usage: Usage,
    bytes: u64,
    events: i64,
}

// === impl Idle ===

impl Idle {
    /// # Errors
    /// None so far: the kit panics.
    pub async fn begin(scale: &Scale) -> Result<Self> {
        let mut hive = TestHive::builder().script(ECHO).start().await;
        for n in 0..AGENTS {
            let name = format!("bee-{n}");
            hive.create(&name, "").await;
            let id = hive.send(&name, "hello").await;
            hive.acked(id, SOON).await;
        }
        // What a start and a turn leave to be done is done.
        pass(scale.quiet).await;
        let before = look(&mut hive).await;
        Ok(Self {
            hive,
            since: Instant::now(),
            before,
        })
    }

    /// Waits for what is left of the idle time, then looks again.
    ///
    /// # Errors
    /// None so far: the kit panics.
    pub async fn end(mut self, scale: &Scale) -> Result<Vec<Figure>> {
        let left = scale.idle.saturating_sub(self.since.elapsed());
        pass(left).await;
        let after = look(&mut self.hive).await;
        let seconds = self.since.elapsed().as_secs_f64();
        let note = format!("{AGENTS} agents, {seconds:.0} s, beside the other groups");
        let cpu = (after.usage.cpu_secs - self.before.usage.cpu_secs) / seconds * 100.0;
        let events = (after.events - self.before.events) as f64;
        let grown = after.bytes.saturating_sub(self.before.bytes) as f64;
        let written = after
            .usage
            .written
            .saturating_sub(self.before.usage.written) as f64;
        let figure = |what: &str, value: f64, unit: &'static str| {
            Figure::new(GROUP, what, "hive", value, unit).noted(note.clone())
        };
        Ok(vec![
            // Every model call is an event.
            figure("idle: model calls", events, "events"),
            figure("idle: growth of the data directory", grown, "bytes"),
            figure("idle: written by hived", written, "bytes"),
            figure("idle: CPU of hived", cpu, "%"),
        ])
    }
}

async fn look(hive: &mut TestHive) -> Look {
    Look {
        usage: usage(hive.daemon().pid()),
        bytes: bytes_below(&hive.home()),
        events: hive.last_seq().await,
    }
}
