//! Sessions that end without their harness's word: its process is gone, or it has fallen silent.

use hive_proto::ids::{AgentId, Epoch};

use super::service::Sessions;
use crate::model::outcome::Loss;
use crate::model::session;
use crate::settle;
use crate::store::StoreError;
use crate::store::sessions::{self as table, Fence};

// === impl Sessions ===

impl Sessions {
    /// Takes the session from a harness that is gone, and settles what it held.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn release(&self, agent: AgentId, loss: Loss) -> Result<(), StoreError> {
        self.store
            .write(move |tx| {
                settle::release(tx, agent, loss)?;
                match table::get(tx.conn(), agent)?.filter(|row| !row.instance.is_empty()) {
                    Some(row) => table::fence(tx, agent, row.epoch, Fence::Gone),
                    None => Ok(()),
                }
            })
            .await?;
        self.forget(agent);
        Ok(())
    }

    /// The sessions that have been silent for a whole lease.
    pub(crate) fn lost(&self) -> Vec<(AgentId, Epoch)> {
        let now = self.clock.monotonic();
        let map = self.map.lock();
        map.iter()
            .filter(|(_, entry)| session::is_lost(self.lease(), entry.seen, now))
            .map(|(agent, entry)| (*agent, entry.epoch))
            .collect()
    }

    /// Takes a silent session from its holder; what it held runs again, counted.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn lose(&self, agent: AgentId, epoch: Epoch) -> Result<(), StoreError> {
        let lost = self
            .store
            .write(move |tx| {
                // First, so that a session that is another's by now loses nothing.
                table::fence(tx, agent, epoch, Fence::Lost)?;
                settle::release(tx, agent, Loss::WithHarness)
            })
            .await;
        match lost {
            Ok(_) | Err(StoreError::Conflict { .. }) => {}
            Err(failure) => return Err(failure),
        }
        let mut map = self.map.lock();
        if map.get(&agent).is_some_and(|entry| entry.epoch == epoch)
            && let Some(entry) = map.remove(&agent)
        {
            entry.cut();
        }
        Ok(())
    }

    /// The broker itself stood still: nobody can be blamed for the silence.
    pub(crate) fn excuse_all(&self) {
        let now = self.clock.monotonic();
        for entry in self.map.lock().values_mut() {
            entry.seen = now;
        }
    }

    fn forget(&self, agent: AgentId) {
        if let Some(entry) = self.map.lock().remove(&agent) {
            entry.cut();
        }
    }
}
