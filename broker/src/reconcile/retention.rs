//! What is old goes, in small batches, so that nobody waits for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hive_proto::ids::UnixMs;

use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::model::event::{Keep, Kind};
use crate::store::{Store, StoreError, Tx, events, messages, turns};

/// The reconciler.
#[derive(Debug)]
pub struct Retention {
    store: Store,
    clock: Clock,
    trust: Mutex<Trust>,
}

/// The wall clock is what ages are measured by; the monotonic clock says whether it can be believed.
#[derive(Clone, Copy, Debug)]
struct Trust {
    wall: UnixMs,
    monotonic: Duration,
    /// Nothing is deleted before, by the monotonic clock.
    from: Duration,
}

const PERIOD: Duration = Duration::from_secs(60 * 60);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const MAIL_DAYS: i64 = 30;
const STREAM_DAYS: i64 = 14;
const SEMANTIC_DAYS: i64 = 90;
/// Rows of one transaction.
const BATCH: u32 = 500;
/// The wall clock may run away from the monotonic one by so much between two runs.
const DRIFT_MS: i64 = 60 * 60 * 1000;
/// After a jump the new time is believed once it has stood for so long.
const DISTRUST: Duration = Duration::from_secs(24 * 60 * 60);

// === impl Retention ===

impl Retention {
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        let trust = Mutex::new(Trust {
            wall: clock.now(),
            monotonic: clock.monotonic(),
            from: Duration::ZERO,
        });
        Self {
            store,
            clock,
            trust,
        }
    }

    /// Whether ages can be believed now: a clock that has just jumped must not empty the mailboxes.
    fn trusts_the_clock(&self) -> bool {
        let (wall, monotonic) = (self.clock.now(), self.clock.monotonic());
        let mut trust = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = monotonic.saturating_sub(trust.monotonic).as_millis();
        let expected = trust
            .wall
            .plus_ms(i64::try_from(passed).unwrap_or(i64::MAX));
        if wall.0.saturating_sub(expected.0).saturating_abs() > DRIFT_MS {
            trust.from = monotonic + DISTRUST;
        }
        trust.wall = wall;
        trust.monotonic = monotonic;
        monotonic >= trust.from
    }

    /// Repeats a small transaction until it finds less than a whole batch.
    async fn drain<F>(&self, prune: F) -> Result<usize, StoreError>
    where
        F: Fn(&mut Tx<'_>) -> Result<usize, StoreError> + Copy + Send + 'static,
    {
        let mut total = 0;
        loop {
            let deleted = self.store.write(prune).await?;
            total += deleted;
            if deleted < BATCH as usize {
                return Ok(total);
            }
        }
    }

    async fn events(&self, keep: Keep, before: UnixMs) -> Result<usize, StoreError> {
        self.drain(move |tx| {
            let kinds: Vec<Kind> = Kind::ALL
                .iter()
                .copied()
                .filter(|kind| kind.keep() == keep)
                .collect();
            events::prune(tx, &kinds, before, BATCH)
        })
        .await
    }
}

#[async_trait::async_trait]
impl Reconciler for Retention {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        if !self.trusts_the_clock() {
            return Ok(Report::default().note("the clock was set; nothing is deleted for a day"));
        }
        let now = self.clock.now();
        let ago = move |days: i64| now.plus_ms(-days * DAY_MS);
        let mail = self
            .drain(move |tx| messages::prune(tx, ago(MAIL_DAYS), BATCH))
            .await?;
        let turns = self
            .drain(move |tx| turns::prune(tx, ago(SEMANTIC_DAYS), BATCH))
            .await?;
        let stream = self.events(Keep::Stream, ago(STREAM_DAYS)).await?;
        let semantic = self.events(Keep::Semantic, ago(SEMANTIC_DAYS)).await?;
        Ok(Report::default()
            .count("messages deleted", mail)
            .count("turns deleted", turns)
            .count("events deleted", stream + semantic))
    }
}
