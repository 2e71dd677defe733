//! What is old goes, in small batches, so that nobody waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hive_proto::ids::UnixMs;

use super::{ReconcileError, Reconciler, Report};
use crate::clock::Clock;
use crate::model::event::{Keep, Kind};
use crate::model::retention::Terms;
use crate::store::{Store, StoreError, Tx, events, messages, outbox, reminders, schedules, turns};

/// The reconciler.
#[derive(Debug)]
pub struct Retention {
    store: Store,
    clock: Clock,
    keep: Terms,
    trust: Mutex<Trust>,
}

/// The wall clock is what ages are measured by; the monotonic clock says whether it can be believed.
#[derive(Clone, Copy, Debug)]
struct Trust {
    wall: UnixMs,
    monotonic: Duration,
    /// Nothing is deleted before, by the monotonic clock.
    from: Duration,
    /// Whether the clock that was found at the start was compared with what was written before it.
    compared: bool,
}

const PERIOD: Duration = Duration::from_secs(60 * 60);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Rows of one transaction.
const BATCH: u32 = 500;
/// The wall clock may run away from the monotonic one by so much between two runs.
const DRIFT_MS: i64 = 60 * 60 * 1000;
/// After a jump the new time is believed once it has stood for so long.
const DISTRUST: Duration = Duration::from_secs(24 * 60 * 60);
/// A start so long after anything was written is either a long holiday or a wrong clock; so is one
/// after less, if less is all that anything is kept.
const HOLIDAY_DAYS: i64 = 7;

// === impl Retention ===

impl Retention {
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        let trust = Mutex::new(Trust {
            wall: clock.now(),
            monotonic: clock.monotonic(),
            from: Duration::ZERO,
            compared: false,
        });
        Self {
            store,
            clock,
            keep: Terms::default(),
            trust,
        }
    }

    /// The same, with things kept for so long.
    #[must_use]
    pub fn keeping(self, keep: Terms) -> Self {
        Self { keep, ..self }
    }

    /// Whether ages can be believed now: a clock that has just jumped, or that woke up in another
    /// year, must not empty the mailboxes.
    async fn trusts_the_clock(&self) -> Result<bool, StoreError> {
        let at_start = *self.trust();
        if !at_start.compared {
            let before = at_start.wall;
            let newest = self
                .store
                .read(move |conn| events::newest_before(conn, before));
            let idle_ms = newest
                .await?
                .map_or(0, |newest| before.0.saturating_sub(newest.0));
            let mut trust = self.trust();
            trust.compared = true;
            if idle_ms > HOLIDAY_DAYS.min(self.keep.shortest()) * DAY_MS {
                trust.from = trust.monotonic + DISTRUST;
            }
        }
        Ok(self.has_stood())
    }

    fn trust(&self) -> MutexGuard<'_, Trust> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the time, and says whether it has gone as the monotonic clock has for long enough.
    fn has_stood(&self) -> bool {
        let (wall, monotonic) = (self.clock.now(), self.clock.monotonic());
        let mut trust = self.trust();
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
        if !self.trusts_the_clock().await? {
            let why = "the clock was set, or nothing ran for days; nothing is deleted for a day";
            return Ok(Report::default().note(why));
        }
        let (keep, now) = (self.keep, self.clock.now());
        let ago = move |days: i64| now.plus_ms(-days * DAY_MS);
        let mail = self
            .drain(move |tx| messages::prune(tx, ago(keep.acked_mail), BATCH))
            .await?;
        let reminders = self
            .drain(move |tx| reminders::prune(tx, ago(keep.acked_mail), BATCH))
            .await?;
        let told = self
            .drain(move |tx| outbox::prune(tx, ago(keep.acked_mail), BATCH))
            .await?;
        let turns = self
            .drain(move |tx| turns::prune(tx, ago(keep.turns), BATCH))
            .await?;
        let slots = self
            .drain(move |tx| schedules::prune_occurrences(tx, ago(keep.events), BATCH))
            .await?;
        let ended = self
            .drain(move |tx| schedules::prune(tx, ago(keep.events), BATCH))
            .await?;
        let stream = self.events(Keep::Stream, ago(keep.stream_events)).await?;
        let semantic = self.events(Keep::Semantic, ago(keep.events)).await?;
        Ok(Report::default()
            .count("messages deleted", mail)
            .count("reminders deleted", reminders)
            .count("notifications deleted", told)
            .count("turns deleted", turns)
            .count("slots deleted", slots)
            .count("schedules deleted", ended)
            .count("events deleted", stream + semantic))
    }
}
