//! A way for a service to have its reconciler run soon, without knowing it.

use std::sync::Arc;

use tokio::sync::Notify;

/// Rung by a service after a commit, awaited by the driver of one reconciler; several rings are one.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<Notify>);

// === impl Bell ===

impl Bell {
    /// Has the reconciler run soon.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    /// Until it is rung; a ring that came before counts.
    pub(super) async fn rung(&self) {
        self.0.notified().await;
    }
}
