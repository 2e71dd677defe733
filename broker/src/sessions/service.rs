//! The service: opening, attending, beating, and what the others ask about sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::BoxStream;
use hive_proto::ids::{AgentId, Epoch};
use hive_proto::limits::{BEAT_MS, LOST_MS};
use tokio::sync::{OnceCell, mpsc};

use super::attend::{Directive, attendance};
use super::error::SessionError;
use super::live::{Attached, Doing, Entry, Live, Map};
use super::open::{self, Hello, Opened};
use crate::clock::Clock;
use crate::shutdown::Tasks;
use crate::store::roster::{self, Work};
use crate::store::sessions as table;
use crate::store::{Store, StoreError};

/// The sessions service; cheap to clone.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub(super) store: Store,
    pub(super) clock: Clock,
    tasks: Tasks,
    pub(super) map: Arc<Map>,
    restored: Arc<OnceCell<()>>,
    streams: Arc<AtomicU64>,
}

/// The answer to a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beaten {
    /// It may begin turns.
    GoOn,
    Paused,
}

/// Whether a directive found its harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Sent,
    NotConnected,
}

/// Directives that wait for a slow harness; one that does not read for so long is not there.
const DIRECTIVES: usize = 16;
/// Longest detail of a beat, in characters.
const DETAIL: usize = 500;

// === impl Sessions ===

impl Sessions {
    #[must_use]
    pub fn new(store: Store, clock: Clock, tasks: Tasks) -> Self {
        Self {
            store,
            clock,
            tasks,
            map: Arc::new(Map::new(Duration::from_millis(LOST_MS.into()))),
            restored: Arc::default(),
            streams: Arc::default(),
        }
    }

    /// The same, with sessions that live so long without a beat; for one that nobody uses yet.
    #[must_use]
    pub fn leasing(self, lease: Duration) -> Self {
        let map = Arc::new(Map::new(lease));
        Self { map, ..self }
    }

    /// How long a session lives without a beat.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.map.lease
    }

    /// How often a harness is to beat: at least four times in a lease, so that three may be lost.
    #[must_use]
    pub fn beat_interval(&self) -> Duration {
        Duration::from_millis(BEAT_MS.into()).min(self.map.lease / 4)
    }

    /// Gives every session of the broker that ran before a fresh lease; only the first call does.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn restore(&self) -> Result<(), StoreError> {
        self.restored
            .get_or_try_init(|| async {
                let rows = self.store.read(table::held).await?;
                let now = self.clock.monotonic();
                let mut map = self.map.lock();
                for row in rows {
                    map.entry(row.agent)
                        .or_insert_with(|| Entry::restored(&row, now));
                }
                Ok(())
            })
            .await
            .copied()
    }

    /// Opens or resumes a session.
    ///
    /// # Errors
    /// `Taken` while another instance is connected and beating; the level, the agent, the store.
    pub async fn open(&self, agent: AgentId, hello: Hello) -> Result<Opened, SessionError> {
        hello.check()?;
        self.restore().await?;
        let (map, now) = (self.map.clone(), self.clock.monotonic());
        self.store
            .write(move |tx| open::open(tx, &map, now, agent, &hello))
            .await?
    }

    /// The stream of directives. It is the fact "connected": dropping it is being away.
    ///
    /// # Errors
    /// A stale epoch, the daemon's end, the store's failure.
    pub async fn attend(
        &self,
        agent: AgentId,
        epoch: Epoch,
    ) -> Result<BoxStream<'static, Directive>, SessionError> {
        self.restore().await?;
        let stopping = self.tasks.stopping();
        if stopping.is_cancelled() {
            return Err(SessionError::Stopping);
        }
        let paused = self.paused(agent).await?;
        let (directives, receiver) = mpsc::channel(DIRECTIVES);
        // The channel is new and larger than these two.
        let _ = directives.try_send(Directive::Attached);
        if paused == Beaten::Paused {
            let _ = directives.try_send(Directive::Pause);
        }
        let stream = self.streams.fetch_add(1, Ordering::Relaxed);
        {
            let mut map = self.map.lock();
            let entry = map
                .get_mut(&agent)
                .filter(|entry| entry.epoch == epoch)
                .ok_or(SessionError::Stale { given: epoch })?;
            entry.seen = self.clock.monotonic();
            entry.attached = Some(Attached { stream, directives });
        }
        Ok(attendance(
            self.map.clone(),
            agent,
            stream,
            receiver,
            stopping,
        ))
    }

    /// Renews the session, and with it every lease that it holds. Writes only what is new.
    ///
    /// # Errors
    /// A stale epoch, the store's failure.
    pub async fn beat(
        &self,
        agent: AgentId,
        epoch: Epoch,
        doing: Doing,
    ) -> Result<Beaten, SessionError> {
        self.restore().await?;
        let doing = Doing {
            detail: doing.detail.chars().take(DETAIL).collect(),
            ..doing
        };
        let news = {
            let mut map = self.map.lock();
            let entry = map
                .get_mut(&agent)
                .filter(|entry| entry.epoch == epoch)
                .ok_or(SessionError::Stale { given: epoch })?;
            entry.seen = self.clock.monotonic();
            // Until it is written, every beat tries again.
            entry.unwritten |= entry.doing != doing;
            entry.doing = doing.clone();
            entry.unwritten
        };
        if news {
            self.write_state(agent, epoch, doing).await?;
        }
        self.paused(agent).await
    }

    /// What is known of the agent's session; none when it never had one or it was fenced.
    #[must_use]
    pub fn live(&self, agent: AgentId) -> Option<Live> {
        let now = self.clock.monotonic();
        self.map.lock().get(&agent).map(|entry| entry.live(now))
    }

    /// The same of every agent.
    #[must_use]
    pub fn all_live(&self) -> HashMap<AgentId, Live> {
        let now = self.clock.monotonic();
        let map = self.map.lock();
        map.iter()
            .map(|(agent, entry)| (*agent, entry.live(now)))
            .collect()
    }

    /// Tells a connected harness.
    pub fn direct(&self, agent: AgentId, directive: Directive) -> Reach {
        let map = self.map.lock();
        let attached = map.get(&agent).and_then(|entry| entry.attached.as_ref());
        match attached.map(|attached| attached.directives.try_send(directive)) {
            Some(Ok(())) => Reach::Sent,
            Some(Err(_)) | None => Reach::NotConnected,
        }
    }

    /// Has a connected harness open its session again, because what the opening answers has changed.
    /// One that is away opens it again anyway; one that does not read what it is told is cut off, so
    /// that it does too.
    pub fn renew(&self, agent: AgentId) {
        let mut map = self.map.lock();
        let Some(entry) = map.get_mut(&agent) else {
            return;
        };
        let told = entry
            .attached
            .as_ref()
            .is_none_or(|attached| attached.directives.try_send(Directive::Renew).is_ok());
        if !told {
            entry.attached = None;
        }
    }

    /// How many sessions are known.
    pub(crate) fn count(&self) -> usize {
        self.map.lock().len()
    }

    async fn write_state(
        &self,
        agent: AgentId,
        epoch: Epoch,
        doing: Doing,
    ) -> Result<(), SessionError> {
        let said = doing.clone();
        let written = self.store.write(move |tx| {
            table::set_state(tx, agent, epoch, said.state, said.until, &said.detail)
        });
        match written.await {
            Err(StoreError::Conflict { .. }) => return Err(SessionError::Stale { given: epoch }),
            other => other?,
        }
        if let Some(entry) = self.map.lock().get_mut(&agent)
            && entry.epoch == epoch
            && entry.doing == doing
        {
            entry.unwritten = false;
        }
        Ok(())
    }

    async fn paused(&self, agent: AgentId) -> Result<Beaten, SessionError> {
        let member = self
            .store
            .read(move |conn| roster::member(conn, agent))
            .await?
            .ok_or(SessionError::AgentGone)?;
        Ok(match member.work {
            Work::Paused => Beaten::Paused,
            Work::Allowed | Work::Stopped => Beaten::GoOn,
        })
    }
}
