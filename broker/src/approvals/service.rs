//! The approvals service: looking, deciding, taking back, and what its reconcilers do.

use hive_proto::ids::{AgentId, ApprovalId, UnixMs};

use super::decide::{self, By, Decision};
use super::effect::{self, Carrying};
use super::error::{ApprovalError, split};
use crate::model::approval::State;
use crate::reconcile::Bell;
use crate::store::approvals::{self, ApprovalRow, Listing};
use crate::store::intents::{self, IntentRow};
use crate::store::{Store, StoreError};

/// The approvals service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Approvals {
    store: Store,
    /// Rung when something is to be carried out.
    intents: Bell,
    /// Rung when another approval may expire first.
    expiry: Bell,
}

// === impl Approvals ===

impl Approvals {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            store,
            intents: Bell::default(),
            expiry: Bell::default(),
        }
    }

    /// What wakes the reconciler that carries out.
    #[must_use]
    pub fn intents_bell(&self) -> Bell {
        self.intents.clone()
    }

    /// What wakes the reconciler that lets requests expire.
    #[must_use]
    pub fn expiry_bell(&self) -> Bell {
        self.expiry.clone()
    }

    /// The newest ones, oldest first, without their payloads.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn list(&self, listing: Listing) -> Result<Vec<ApprovalRow>, ApprovalError> {
        let rows = self
            .store
            .read(move |conn| approvals::list(conn, listing))
            .await?;
        Ok(rows)
    }

    /// What an agent's own requests wait for.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn pending_of(&self, agent: AgentId) -> Result<Vec<ApprovalRow>, ApprovalError> {
        let rows = self
            .store
            .read(move |conn| approvals::pending_of(conn, agent))
            .await?;
        Ok(rows)
    }

    /// One with the bytes that its digest covers.
    ///
    /// # Errors
    /// When it does not exist, the store's failure.
    pub async fn get(&self, id: ApprovalId) -> Result<ApprovalRow, ApprovalError> {
        let found = self
            .store
            .read(move |conn| approvals::find(conn, id))
            .await?;
        found.ok_or(ApprovalError::Unknown(id))
    }

    /// Decides once; whoever comes second learns who was first.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn decide(
        &self,
        id: ApprovalId,
        decision: Decision,
        by: By,
    ) -> Result<ApprovalRow, ApprovalError> {
        self.store
            .write(move |tx| split(decide::decide(tx, id, decision, &by)))
            .await??;
        self.intents.ring();
        self.get(id).await
    }

    /// Its requester, or a manager above it, takes it back.
    ///
    /// # Errors
    /// A refusal, the store's failure.
    pub async fn take_back(
        &self,
        by: AgentId,
        id: ApprovalId,
    ) -> Result<ApprovalRow, ApprovalError> {
        self.store
            .write(move |tx| split(decide::take_back(tx, by, id)))
            .await??;
        self.get(id).await
    }

    /// Ends at most `limit` requests whose time is over or whose requester was purged; counts both.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn lapse(&self, now: UnixMs, limit: u32) -> Result<(usize, usize), StoreError> {
        let rows = self
            .store
            .read(move |conn| approvals::stale(conn, now, limit))
            .await?;
        let (mut expired, mut cancelled) = (0, 0);
        for row in rows {
            let ended = self.store.write(move |tx| decide::lapse(tx, &row)).await;
            match ended {
                Ok(State::Cancelled) => cancelled += 1,
                Ok(_) => expired += 1,
                // Decided a moment ago.
                Err(StoreError::Conflict { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok((expired, cancelled))
    }

    /// When the next pending one's time is over.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn next_expiry(&self) -> Result<Option<UnixMs>, StoreError> {
        self.store.read(approvals::next_expiry).await
    }

    /// At most `limit` effects that are still to be had, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn intents(&self, limit: u32) -> Result<Vec<IntentRow>, StoreError> {
        self.store
            .read(move |conn| intents::pending(conn, limit))
            .await
    }

    /// Tries one effect; a failure that may pass is noted with it.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn carry(&self, intent: IntentRow) -> Result<Carrying, StoreError> {
        let id = intent.id;
        let carried = self.store.write(move |tx| effect::carry(tx, &intent)).await;
        if let Err(failure) = &carried {
            let why = failure.to_string();
            // Where nothing can be written, not even this can; the reconciler's status says it too.
            _ = self
                .store
                .write(move |tx| intents::note_failure(tx, id, &why))
                .await;
        }
        carried
    }
}
