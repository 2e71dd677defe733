//! Watching events: after a given one, then live, without a gap.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use hive_proto::ids::EventSeq;

use crate::shutdown::Tasks;
use crate::store::events::{self as table, EventRow};
use crate::store::{Store, StoreError};

/// The events service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Events {
    store: Store,
    tasks: Tasks,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    Now,
    After(EventSeq),
}

/// Rows that one look fetches.
const PAGE: u32 = 256;

struct Watch {
    events: Events,
    agent: String,
    cursor: EventSeq,
}

// === impl Events ===

impl Events {
    #[must_use]
    pub fn new(store: Store, tasks: Tasks) -> Self {
        Self { store, tasks }
    }

    /// Events in order, of one agent when `agent` is not empty. The reader sets the pace: nothing is
    /// kept for it in memory. Ends when the daemon stops.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn watch(
        &self,
        since: Since,
        agent: String,
    ) -> Result<BoxStream<'static, Result<EventRow, StoreError>>, StoreError> {
        let cursor = match since {
            Since::After(seq) => seq,
            Since::Now => self.store.read(table::last_seq).await?,
        };
        let watch = Watch {
            events: self.clone(),
            agent,
            cursor,
        };
        let pages = stream::unfold(Some(watch), |watch| async move {
            let mut watch = watch?;
            match watch.page().await {
                Ok(Some(rows)) => Some((rows.into_iter().map(Ok).collect(), Some(watch))),
                Ok(None) => None,
                Err(failure) => Some((vec![Err(failure)], None)),
            }
        });
        Ok(pages.flat_map(stream::iter).boxed())
    }
}

// === impl Watch ===

impl Watch {
    /// The next rows, at least one; none when the daemon stops.
    async fn page(&mut self) -> Result<Option<Vec<EventRow>>, StoreError> {
        let stopping = self.events.tasks.stopping();
        let wakers = self.events.store.wakers().clone();
        loop {
            let woken = wakers.events().notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let rows = self.look().await?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
            tokio::select! {
                () = woken => {}
                () = stopping.cancelled() => return Ok(None),
            }
        }
    }

    async fn look(&mut self) -> Result<Vec<EventRow>, StoreError> {
        let (after, agent) = (self.cursor, self.agent.clone());
        let (rows, last) = self
            .events
            .store
            .read(move |conn| {
                let last = table::last_seq(conn)?;
                let rows = table::between(conn, after, last, &agent, PAGE)?;
                Ok((rows, last))
            })
            .await?;
        self.cursor = match rows.last() {
            Some(row) if rows.len() >= PAGE as usize => row.seq,
            // Everything up to `last` was looked at, also what is about other agents.
            Some(_) | None => last.max(self.cursor),
        };
        Ok(rows)
    }
}
