//! Deleting what a purged agent had: recorded when it begins and when it is done, so that neither a
//! crash nor a directory that cannot be deleted leaves it half done for ever.

use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::name::AgentName;
use tracing::{info, warn};

use super::error::AgentsError;
use super::fleet::Handle;
use super::service::{Agents, Inner};
use crate::erase::erase;
use crate::paths::Paths;
use crate::removal;
use crate::store::StoreError;
use crate::store::agents::AgentRow;
use crate::store::purges::{self, News, PurgeRow};

/// Before something that could not be deleted is tried again.
pub(super) const AGAIN: Duration = Duration::from_secs(5);

/// How far it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purged {
    /// Nothing is left.
    Done,
    /// Something cannot be deleted; why is recorded.
    Stuck,
}

// === impl Agents ===

impl Agents {
    /// Purges whose files cannot be deleted: a person has to see to it.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn stuck_purges(&self) -> Result<Vec<PurgeRow>, AgentsError> {
        let mut rows = self.0.store.read(purges::unfinished).await?;
        rows.retain(|row| !row.error.is_empty());
        Ok(rows)
    }

    /// Why the purge does not get on; nothing if it has by now.
    pub(super) async fn stuck(&self, id: AgentId) -> Result<(), AgentsError> {
        let found = self.0.store.read(move |conn| purges::of_agent(conn, id));
        match found.await? {
            Some(row) => Err(AgentsError::PurgeStuck {
                name: row.name,
                why: row.error,
            }),
            None => Ok(()),
        }
    }
}

/// Deletes everything that a purged agent had, and records that or what is in the way.
pub(super) async fn delete(
    inner: &Inner,
    handle: &Handle,
    row: &AgentRow,
) -> Result<Purged, StoreError> {
    let id = row.id;
    let open = inner.store.read(move |conn| purges::of_agent(conn, id));
    // Not purged, or done before: what bears the name now is another agent's.
    if open.await?.is_none() {
        return Ok(Purged::Done);
    }
    let (paths, name) = (inner.settings.paths.clone(), row.name.clone());
    let deleted = tokio::task::spawn_blocking(move || delete_directories(&paths, &name)).await;
    let stuck = match deleted {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why),
        Err(error) => Some(format!("cut off: {error}")),
    };
    let Some(why) = stuck else {
        inner
            .store
            .write(move |tx| {
                // What came in between the removal and the end of its sockets.
                removal::bury_mail(tx, id)?;
                purges::finish(tx, id)
            })
            .await?;
        info!(agent.name = %row.name, "purged");
        return Ok(Purged::Done);
    };
    let recorded = why.clone();
    let news = inner
        .store
        .write(move |tx| purges::fail(tx, id, &recorded))
        .await?;
    if news == News::New {
        warn!(agent.name = %row.name, %why, "cannot delete what the agent had; it is tried again");
    }
    handle.stuck.notify_one();
    Ok(Purged::Stuck)
}

/// Links in the directories are deleted, not followed.
fn delete_directories(paths: &Paths, name: &AgentName) -> Result<(), String> {
    for (shown, path) in [
        (format!("agents/{name}"), paths.agent_home(name)),
        (format!("terminals/{name}"), paths.agent_terminal(name)),
    ] {
        erase(&path).map_err(|error| format!("{shown}: {error}"))?;
    }
    Ok(())
}
