//! What bears this hive's mark although its database knows no such agent: it is ended, and that is told.
//!
//! It happens after the restore of a backup that is older than the agent. Such an instance can serve
//! nobody: its mail is not there, and its number may be given to another agent. So it does not go on,
//! but whoever restored the backup learns which ones it were.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tracing::warn;

use super::service::Inner;
use crate::model::event::Kind;
use crate::runtime::{Instance, Status};
use crate::settle;
use crate::store::events::{self, About};
use crate::store::{Recipient, StoreError, Tx};

/// Those that were told, by the runtime's id, until the runtime does not list them any more.
#[derive(Debug, Default)]
pub(super) struct Orphans(Mutex<HashMap<String, State>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its end is under way, or the last look is older than its end.
    Ending,
    /// It did not end: the next look tries again.
    Resists,
}

// === impl Orphans ===

impl Orphans {
    fn map(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of those that the runtime lists now: the ones that nobody was told of, and the others whose
    /// end has to be tried again.
    fn sort(&self, listed: &[Instance]) -> (Vec<Instance>, Vec<Instance>) {
        let mut map = self.map();
        map.retain(|id, _| listed.iter().any(|instance| instance.id == *id));
        let of = |wanted: Option<State>| {
            let found = listed.iter();
            let found = found.filter(|one| map.get(&one.id).copied() == wanted);
            found.cloned().collect()
        };
        (of(None), of(Some(State::Resists)))
    }

    fn set(&self, id: &str, state: State) {
        self.map().insert(id.to_owned(), state);
    }
}

// === impl Inner ===

impl Inner {
    /// Records and tells what is new among them, and only then ends it.
    pub(super) async fn end_orphans(
        self: &Arc<Self>,
        listed: Vec<Instance>,
    ) -> Result<(), StoreError> {
        let (new, again) = self.orphans.sort(&listed);
        if !new.is_empty() {
            let told = new.clone();
            self.store.write(move |tx| tell(tx, &told)).await?;
        }
        for orphan in new.into_iter().chain(again) {
            warn!(agent.name = %orphan.name, runtime.id = %orphan.id,
                "ending what belongs to no agent of this hive");
            self.orphans.set(&orphan.id, State::Ending);
            let inner = Arc::clone(self);
            self.tasks.spawn("agents.orphan", async move {
                let ended = async {
                    inner.runtime.stop(&orphan.id, Duration::ZERO).await?;
                    inner.runtime.remove(&orphan.id).await
                };
                if let Err(error) = ended.await {
                    warn!(runtime.id = %orphan.id, %error, "cannot end it; the next look tries again");
                    inner.orphans.set(&orphan.id, State::Resists);
                }
            });
        }
        Ok(())
    }
}

fn tell(tx: &mut Tx<'_>, orphans: &[Instance]) -> Result<(), StoreError> {
    for orphan in orphans {
        let running = matches!(orphan.status, Status::Running | Status::Frozen);
        let data = json!({"name": orphan.name.as_str(), "id": orphan.agent_id,
            "runtime_id": orphan.id, "running": running});
        events::append(tx, Kind::AgentOrphanEnded, About::default(), &data)?;
    }
    let names: Vec<_> = orphans
        .iter()
        .map(|orphan| format!("{} (agent {})", orphan.name, orphan.agent_id))
        .collect();
    let body = format!(
        "The runtime held agents that this hive's database does not know, as after the restore of an \
         older backup. They are ended: {}. Their files stay where they are.",
        names.join(", ")
    );
    settle::post_system(tx, Recipient::Operator, &body)?;
    Ok(())
}
