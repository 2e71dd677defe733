//! Wake-ups after a commit: one `Notify` a recipient, one for the watchers of events.
//!
//! A waiter registers first, then queries, then waits, so a commit between its query and its wait is
//! never missed. An entry lives only while someone waits on it: abandoned polls leave nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::store::Recipient;

/// Shared by the store, which wakes, and the services, which wait.
#[derive(Debug, Default)]
pub struct Wakers {
    recipients: Mutex<HashMap<Recipient, Weak<Notify>>>,
    events: Notify,
}

// === impl Wakers ===

impl Wakers {
    /// The recipient's `Notify`; enable its future before querying.
    #[must_use]
    pub fn recipient(&self, recipient: Recipient) -> Arc<Notify> {
        let mut map = self.map();
        if let Some(notify) = map.get(&recipient).and_then(Weak::upgrade) {
            return notify;
        }
        map.retain(|_, notify| notify.strong_count() > 0);
        let notify = Arc::new(Notify::new());
        map.insert(recipient, Arc::downgrade(&notify));
        notify
    }

    /// Notified after every commit that added events.
    #[must_use]
    pub fn events(&self) -> &Notify {
        &self.events
    }

    /// Called by the writer once a group is on disk.
    pub fn wake(&self, recipients: &[Recipient], evented: bool) {
        if !recipients.is_empty() {
            let map = self.map();
            for recipient in recipients {
                if let Some(notify) = map.get(recipient).and_then(Weak::upgrade) {
                    notify.notify_waiters();
                }
            }
        }
        if evented {
            self.events.notify_waiters();
        }
    }

    /// Entries that are still waited on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map()
            .values()
            .filter(|notify| notify.strong_count() > 0)
            .count()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<Recipient, Weak<Notify>>> {
        self.recipients
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
