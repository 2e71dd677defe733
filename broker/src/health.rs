//! Whether this `hived` can do its one duty: accept messages.

use crate::shutdown::Tasks;
use crate::store::Store;

/// Asked by `/healthz`; cheap to clone.
#[derive(Clone, Debug)]
pub struct Health {
    store: Store,
    tasks: Tasks,
}

// === impl Health ===

impl Health {
    #[must_use]
    pub fn new(store: Store, tasks: Tasks) -> Self {
        Self { store, tasks }
    }

    /// Why messages are not accepted; none when they are.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.tasks.stopping().is_cancelled() {
            return Some("stopping".to_owned());
        }
        Some(self.store.health()).filter(|fault| !fault.is_empty())
    }
}
