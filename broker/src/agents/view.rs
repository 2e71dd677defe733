//! What people see of agents: rows, facts in memory and counts, put together.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hive_proto::LEVEL;
use hive_proto::ids::{AgentId, TurnId, UnixMs};

use super::error::AgentsError;
use super::memory::Memory;
use super::rights::{self, ShownRights};
use super::service::{Agents, Inner};
use super::{driver, spec};
use crate::model::agent::Held;
use crate::model::session::is_lost;
use crate::model::shown::{Facts, Session, Shown, State};
use crate::sessions::Live;
use crate::store::agents::{self as table, AgentRow};
use crate::store::messages::{self, Unread};
use crate::store::turns::{self, Totals, TurnRow};
use crate::store::{Conn, StoreError};
use crate::topology;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// One agent as shown.
#[derive(Clone, Debug)]
pub struct AgentView {
    pub row: AgentRow,
    /// The parent's name, or `operator`.
    pub parent: String,
    pub rights: ShownRights,
    pub shown: Shown,
    /// Since when it is shown so, as far as this broker knows.
    pub since: UnixMs,
    /// `docker` or `process`.
    pub runtime: &'static str,
    /// The runtime's id of its instance; empty when there is none.
    pub runtime_id: String,
    /// The image that it runs, or would run.
    pub image: String,
    /// Queued messages.
    pub unread: u32,
    /// Since when its oldest unclaimed message is stalled.
    pub stalled_since: Option<UnixMs>,
    pub turns: u64,
    /// Of the turns that began today, UTC.
    pub cost_today_usd: f64,
    /// The open turn and when it began.
    pub turn: Option<(TurnId, UnixMs)>,
    /// Made from an older spec, or its harness speaks an older level: `agent restart` renews it.
    pub needs_update: bool,
    /// The harness's version; empty when none was ever connected.
    pub version: String,
}

/// What one read brings about every agent.
struct Counts {
    unread: HashMap<AgentId, Unread>,
    totals: HashMap<AgentId, Totals>,
    open: HashMap<AgentId, TurnRow>,
}

/// What belongs to an agent beside its row.
struct Place {
    parent: String,
    rights: ShownRights,
}

// === impl Place ===

impl Place {
    fn of(conn: &Conn, agent: AgentId) -> Result<Self, StoreError> {
        Ok(Self {
            parent: topology::parent(conn, agent)?.name,
            rights: rights::shown(conn, agent)?,
        })
    }
}

// === impl Agents ===

impl Agents {
    /// Every living agent, by name.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn list_agents(&self) -> Result<Vec<AgentView>, AgentsError> {
        self.views(table::list).await
    }

    /// Every living agent below this one, by name.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn list_below(&self, manager: AgentId) -> Result<Vec<AgentView>, AgentsError> {
        self.views(move |conn| {
            let below: HashSet<_> = topology::below(conn, manager)?.into_iter().collect();
            let mut rows = table::list(conn)?;
            rows.retain(|row| below.contains(&row.id));
            Ok(rows)
        })
        .await
    }

    /// # Errors
    /// An unknown agent, the store's failure.
    pub async fn get_agent(&self, name: &str) -> Result<AgentView, AgentsError> {
        let row = self.row(name).await?;
        self.view_of(row.id).await
    }

    pub(super) async fn view_of(&self, id: AgentId) -> Result<AgentView, AgentsError> {
        let views = self.views(move |conn| Ok(table::get(conn, id)?.into_iter().collect()));
        views.await?.pop().ok_or(AgentsError::Gone(id))
    }

    /// How the agent is shown now; as the last look left it, without asking the store.
    #[must_use]
    pub fn state(&self, id: AgentId) -> Option<Shown> {
        let handle = self.0.fleet.get(id)?;
        let memory = handle.memory();
        memory.story.shown().cloned()
    }

    /// Works out how every agent is shown and records what has changed; says how many there are.
    pub(crate) async fn note_states(&self) -> Result<usize, StoreError> {
        let inner = &self.0;
        let (rows, open) = inner
            .store
            .read(|conn| Ok((table::list(conn)?, turns::all_current(conn)?)))
            .await?;
        let live = inner.sessions.all_live();
        let now = inner.clock.now();
        for row in &rows {
            let Some(handle) = inner.fleet.get(row.id) else {
                continue;
            };
            let mut memory = handle.memory();
            let shown = inner.shown(row, &memory, live.get(&row.id), open.contains_key(&row.id));
            memory.story.go_on(&shown, now);
        }
        inner.tell_changes().await?;
        Ok(rows.len())
    }

    async fn views<F>(&self, rows: F) -> Result<Vec<AgentView>, AgentsError>
    where
        F: Fn(&Conn) -> Result<Vec<AgentRow>, StoreError> + Send + 'static,
    {
        let inner = &self.0;
        let now = inner.clock.now();
        let midnight = UnixMs(now.0 - now.0.rem_euclid(DAY_MS));
        let (rows, counts) = inner
            .store
            .read(move |conn| {
                let rows = rows(conn)?
                    .into_iter()
                    .map(|row| Ok((Place::of(conn, row.id)?, row)))
                    .collect::<Result<Vec<_>, StoreError>>()?;
                let counts = Counts {
                    unread: messages::unread_counts(conn)?,
                    totals: turns::totals(conn, midnight)?,
                    open: turns::all_current(conn)?,
                };
                Ok((rows, counts))
            })
            .await?;
        let mut live = inner.sessions.all_live();
        Ok(rows
            .into_iter()
            .map(|(place, row)| {
                let live = live.remove(&row.id);
                inner.view(row, place, live.as_ref(), &counts)
            })
            .collect())
    }
}

// === impl Inner ===

impl Inner {
    fn view(&self, row: AgentRow, place: Place, live: Option<&Live>, counts: &Counts) -> AgentView {
        let id = row.id;
        let open = counts.open.get(&id);
        let unread = counts.unread.get(&id).copied().unwrap_or_default();
        let totals = counts.totals.get(&id).copied().unwrap_or_default();
        let handle = self.fleet.get(id);
        let memory = handle.as_ref().map(|handle| handle.memory());
        let now = self.clock.now();
        let (shown, since, runtime_id, spec_hash) = match &memory {
            Some(memory) => {
                let shown = self.shown(&row, memory, live, open.is_some());
                let since = memory.story.since(&shown, now);
                let spec_hash = memory.spec_hash.clone();
                (shown, since, memory.runtime_id.clone(), spec_hash)
            }
            None => (unknown(), now, String::new(), String::new()),
        };
        drop(memory);
        let old_level = live.is_some_and(|live| live.level < LEVEL);
        let drifted = !spec_hash.is_empty() && {
            let spec = spec::build(&self.settings, &row, &place.parent);
            self.runtime.spec_hash(&spec) != spec_hash
        };
        AgentView {
            image: spec::image(&self.settings, &row),
            parent: place.parent,
            rights: place.rights,
            shown,
            since,
            runtime: self.runtime.name(),
            runtime_id,
            unread: unread.queued,
            stalled_since: unread.stalled_since,
            turns: totals.turns,
            cost_today_usd: totals.cost_usd,
            turn: open.map(|turn| (turn.id, turn.started_at)),
            needs_update: drifted || old_level,
            version: live.map(|live| live.version.clone()).unwrap_or_default(),
            row,
        }
    }

    /// Appends the events. What cannot be written waits for the next run.
    async fn tell_changes(&self) -> Result<(), StoreError> {
        let mut untold = self.fleet.all();
        untold.retain(|handle| !handle.memory().story.untold().is_empty());
        let changes: Vec<(AgentId, Vec<Shown>)> = untold
            .iter()
            .map(|handle| (handle.id, handle.memory().story.untold()))
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        let told: Vec<usize> = changes.iter().map(|(_, states)| states.len()).collect();
        let written = self.store.write(move |tx| {
            for (id, states) in &changes {
                for shown in states {
                    table::note_state(tx, *id, shown.state.word(), &shown.detail)?;
                }
            }
            Ok(())
        });
        written.await?;
        for (handle, count) in untold.iter().zip(told) {
            handle.memory().story.told(count);
        }
        Ok(())
    }

    fn shown(&self, row: &AgentRow, memory: &Memory, live: Option<&Live>, leased: bool) -> Shown {
        let (held, runtime_detail) = memory.held_now();
        Shown::of(&Facts {
            goal: driver::goal(row),
            paused: row.paused,
            failed: &row.failed,
            held,
            runtime_detail,
            operation: operation(row, memory),
            session: session(memory, live, self.sessions.lease(), self.clock.monotonic()),
            leased,
        })
    }
}

/// A restart that was asked for is under way from the moment that it was.
fn operation(row: &AgentRow, memory: &Memory) -> crate::model::shown::Operation {
    use crate::model::shown::Operation;
    match (memory.operation, row.restart_asked, memory.held) {
        (Operation::None, true, Held::Running | Held::Frozen) => Operation::Stopping,
        (operation, _, _) => operation,
    }
}

/// A session counts only if it was heard of since the instance began to run.
fn session(memory: &Memory, live: Option<&Live>, lease: Duration, now: Duration) -> Session {
    let heard = live.filter(|live| now.saturating_sub(live.silent_for) >= memory.running_since);
    let since = match heard {
        Some(live) => now.saturating_sub(live.silent_for),
        None => memory.running_since,
    };
    match heard {
        _ if is_lost(lease, since, now) => Session::Silent,
        None => Session::Awaited,
        Some(live) => Session::Live {
            state: live.state,
            until: live.until,
            detail: live.detail.clone(),
        },
    }
}

fn unknown() -> Shown {
    Shown {
        state: State::Unknown,
        until: None,
        detail: "it is being removed".into(),
    }
}
