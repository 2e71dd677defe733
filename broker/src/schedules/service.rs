//! The schedules service.

use hive_proto::ids::{AgentId, ScheduleId, UnixMs};

use super::authority::Actor;
use super::cancel;
use super::draft::{Change, Draft};
use super::edit::{self, Edited};
use super::error::{ScheduleError, split};
use super::fire;
use super::make;
use super::settle;
use super::view::{self, Fired, ScheduleDetail, ScheduleView};
use crate::approvals::Asked;
use crate::inbox::Limits;
use crate::model::schedule::due;
use crate::reconcile::Bell;
use crate::store::schedules::{self as table, Listing};
use crate::store::{Store, StoreError};

/// The schedules service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Schedules {
    store: Store,
    limits: Limits,
    /// The shortest interval, in seconds.
    least_secs: u64,
    bell: Bell,
    /// Rung when there is another approval that may expire.
    expiry: Bell,
}

/// What one look settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettledCounts {
    pub schedules: usize,
    pub fired: usize,
    pub skipped: usize,
}

/// Rows of a detail when none are asked for, and at the most.
const OCCURRENCES: (u32, u32) = (1_000, 10_000);

// === impl Schedules ===

impl Schedules {
    #[must_use]
    pub fn new(store: Store, limits: Limits, least_secs: u64, expiry: Bell) -> Self {
        Self {
            store,
            limits,
            least_secs,
            bell: Bell::default(),
            expiry,
        }
    }

    /// What wakes the reconciler that fires.
    #[must_use]
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Makes a schedule of the operator's.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn create(&self, draft: Draft) -> Result<ScheduleView, ScheduleError> {
        let least = self.least_secs;
        let id = self
            .store
            .write(move |tx| split(make::create(tx, &draft, least)))
            .await??;
        self.bell.ring();
        self.get(Actor::Operator, id).await
    }

    /// Asks for a schedule of an agent's.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn request(&self, agent: AgentId, draft: Draft) -> Result<Asked, ScheduleError> {
        let least = self.least_secs;
        let asked = self
            .store
            .write(move |tx| split(make::ask(tx, agent, &draft, least)))
            .await??;
        self.expiry.ring();
        Ok(asked)
    }

    /// Changes a schedule, or asks for the change; with the schedule as it runs now.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn edit(
        &self,
        actor: Actor,
        id: ScheduleId,
        change: Change,
    ) -> Result<(Edited, ScheduleView), ScheduleError> {
        let least = self.least_secs;
        let edited = self
            .store
            .write(move |tx| split(edit::edit(tx, actor, id, &change, least)))
            .await??;
        self.bell.ring();
        self.expiry.ring();
        Ok((edited, self.get(actor, id).await?))
    }

    /// Ends a schedule, or takes targets out of it.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn cancel(
        &self,
        actor: Actor,
        id: ScheduleId,
        targets: Vec<String>,
    ) -> Result<ScheduleView, ScheduleError> {
        self.store
            .write(move |tx| split(cancel::cancel(tx, actor, id, &targets)))
            .await??;
        self.bell.ring();
        self.get(actor, id).await
    }

    /// Fires one slot beside the timetable.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn fire_now(
        &self,
        actor: Actor,
        id: ScheduleId,
        key: Option<String>,
    ) -> Result<Fired, ScheduleError> {
        let limits = self.limits;
        let occurrences = self
            .store
            .write(move |tx| split(fire::fire_now(tx, limits, actor, id, key.as_deref())))
            .await??;
        let view = self.get(actor, id).await?;
        Ok(Fired { view, occurrences })
    }

    /// One that the actor may see.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn get(&self, actor: Actor, id: ScheduleId) -> Result<ScheduleView, ScheduleError> {
        self.store
            .read(move |conn| split(view::one(conn, actor, id)))
            .await?
    }

    /// One with its newest slots; a limit of 0 is taken as 1,000, capped at 10,000.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn detail(
        &self,
        actor: Actor,
        id: ScheduleId,
        limit: u32,
    ) -> Result<ScheduleDetail, ScheduleError> {
        let limit = match limit {
            0 => OCCURRENCES.0,
            some => some.min(OCCURRENCES.1),
        };
        self.store
            .read(move |conn| split(view::detail(conn, actor, id, limit)))
            .await?
    }

    /// Those that the actor may see, in the order of their making.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn list(
        &self,
        actor: Actor,
        listing: Listing,
    ) -> Result<Vec<ScheduleView>, ScheduleError> {
        let views = self
            .store
            .read(move |conn| view::list(conn, actor, listing))
            .await?;
        Ok(views)
    }

    /// Settles what is due of at most `limit` schedules. What is due is worked out before the
    /// transaction, which only goes through while the schedule is still as it was.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn settle_due(&self, now: UnixMs, limit: u32) -> Result<SettledCounts, StoreError> {
        let rows = self
            .store
            .read(move |conn| table::due(conn, now, limit))
            .await?;
        let mut all = SettledCounts::default();
        for row in rows {
            let definition = &row.definition;
            let Some(due) = row
                .next
                .and_then(|next| due(&definition.timing, next, definition.misfire, now))
            else {
                continue;
            };
            let limits = self.limits;
            let settled = self
                .store
                .write(move |tx| settle::settle_due(tx, limits, &row, &due))
                .await?;
            if let Some(counts) = settled {
                all.schedules += 1;
                all.fired += counts.fired;
                all.skipped += counts.skipped;
            }
        }
        Ok(all)
    }

    /// When the next slot of any comes.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn next_due(&self) -> Result<Option<UnixMs>, StoreError> {
        self.store.read(table::next_due).await
    }

    /// Ends the schedules of purged agents and takes purged agents out of others; counts both.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn drop_purged(&self) -> Result<usize, StoreError> {
        let (abandoned, targets) = self
            .store
            .read(|conn| Ok((table::abandoned(conn)?, table::purged_targets(conn)?)))
            .await?;
        if abandoned.is_empty() && targets.is_empty() {
            return Ok(0);
        }
        self.store.write(cancel::drop_purged).await
    }
}
