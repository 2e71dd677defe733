//! Refusals that somebody may have to look into, written down as events.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tracing::warn;

use crate::clock::Clock;
use crate::model::event::Kind;
use crate::shutdown::Tasks;
use crate::store::Store;
use crate::store::events::{self, About};

/// One row in this time: whoever is refused cannot fill the disk with it.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes audit events; cheap to clone.
#[derive(Clone, Debug)]
pub struct Audit {
    store: Store,
    clock: Clock,
    tasks: Tasks,
    last: Arc<Mutex<Option<Duration>>>,
}

// === impl Audit ===

impl Audit {
    #[must_use]
    pub fn new(store: Store, clock: Clock, tasks: Tasks) -> Self {
        Self {
            store,
            clock,
            tasks,
            last: Arc::default(),
        }
    }

    /// Somebody who is no operator called on the operator socket.
    pub fn operator_refused(&self, uid: Option<u32>, pid: Option<i32>) {
        if !self.due() {
            return;
        }
        warn!(
            peer.uid = uid,
            peer.pid = pid,
            "refused on the operator socket"
        );
        let store = self.store.clone();
        self.tasks.spawn("audit", async move {
            let data = json!({"uid": uid, "pid": pid});
            let written = store
                .write(move |tx| events::append(tx, Kind::OperatorRefused, About::default(), &data))
                .await;
            if let Err(error) = written {
                warn!(%error, "a refusal could not be recorded");
            }
        });
    }

    fn due(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_sub(last) >= PAUSE);
        if due {
            *last = Some(now);
        }
        due
    }
}
