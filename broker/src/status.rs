//! What `hive status` shows: facts about the daemon, its store, its agents, and what waits for people.

use std::collections::BTreeMap;

use hive_proto::ids::UnixMs;
use hive_proto::v1::{self, HiveStatus, ReconcilerStatus, StateCount, StoreStatus};

use crate::agents::{AgentView, AgentsError};
use crate::approvals::{ApprovalError, ApprovalRow, Listing};
use crate::config::RuntimeKind;
use crate::hive::Hive;
use crate::inbox::InboxError;
use crate::model::concern::Concern;
use crate::model::disk::Level;
use crate::model::shown::State;
use crate::notify::{NotifyError, OutboxRow};
use crate::questions::QuestionRow;
use crate::reconcile::{Room, Status};
use crate::reminders::ReminderRow;
use crate::store::StoreError;
use crate::store::purges::PurgeRow;

/// Why there is no status.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StatusError {
    #[error(transparent)]
    Agents(#[from] AgentsError),
    #[error(transparent)]
    Approvals(#[from] ApprovalError),
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Notify(#[from] NotifyError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything at once.
///
/// # Errors
/// When the store cannot be read.
pub async fn report(hive: &Hive) -> Result<HiveStatus, StatusError> {
    let agents = hive.agents.list_agents().await?;
    let facts = hive.store.facts().await?;
    let reconcilers: Vec<_> = hive.reconcilers.statuses().into_iter().map(shown).collect();
    let runtime = reconcilers.iter().find(|one| one.name == "containers");
    let runtime_error = runtime.map(|one| one.error.clone()).unwrap_or_default();
    let mail = hive.inbox.waiting().await?;
    let mut waiting: Vec<v1::Waiting> = mail.into_iter().map(Into::into).collect();
    waiting.extend(agents.iter().filter_map(waits));
    waiting.extend(hive.agents.stuck_purges().await?.into_iter().map(stuck));
    let requests = hive.approvals.list(Listing::Pending).await?;
    waiting.extend(requests.into_iter().map(decision));
    waiting.extend(hive.questions.for_operator().await?.into_iter().map(asked));
    waiting.extend(hive.reminders.failed().await?.into_iter().map(undelivered));
    waiting.extend(hive.notify.dead().await?.into_iter().map(untold));
    waiting.extend(hive.disk.get().and_then(filling_up));
    waiting.sort_by_key(|one| one.since_ms);
    let uptime = hive.clock.monotonic().saturating_sub(hive.started);
    let config = &hive.config;
    Ok(HiveStatus {
        version: hive_proto::VERSION.to_owned(),
        home: config.paths.home().display().to_string(),
        run: config.paths.run().display().to_string(),
        listen: hive.listen.to_string(),
        runtime: config.runtime.kind.word().to_owned(),
        runtime_error,
        uptime_secs: uptime.as_secs(),
        store: Some(StoreStatus {
            schema: facts.schema,
            bytes: facts.bytes,
            sqlite_version: facts.sqlite_version,
            error: hive.store.health(),
        }),
        agents: counts(&agents),
        waiting,
        reconcilers,
        unisolated: match config.runtime.kind {
            RuntimeKind::Docker => false,
            RuntimeKind::Process => true,
        },
        rehearsal: config.gateway.rehearsal() || config.agent.engine == "scripted",
        last_seq: facts.last_seq.0,
        pid: std::process::id(),
        lost_log_lines: crate::logging::lost(),
    })
}

/// A request that nobody but a person can decide.
fn decision(row: ApprovalRow) -> v1::Waiting {
    v1::Waiting {
        kind: Concern::Approval.word().to_owned(),
        id: row.id.0,
        since_ms: row.requested_at.0,
        text: row.line(),
        agent: row.requester_name,
    }
}

fn counts(agents: &[AgentView]) -> Vec<StateCount> {
    let mut counts = BTreeMap::new();
    for view in agents {
        *counts.entry(view.shown.state.word()).or_insert(0) += 1;
    }
    let count = |(state, count): (&str, u32)| StateCount {
        state: state.to_owned(),
        count,
    };
    counts.into_iter().map(count).collect()
}

/// An agent that nobody but a person can help.
fn waits(view: &AgentView) -> Option<v1::Waiting> {
    let concern = match view.shown.state {
        State::Failed => Concern::FailedAgent,
        State::NeedsLogin => Concern::NeedsLogin,
        State::Starting
        | State::Idle
        | State::Thinking
        | State::Compacting
        | State::RateLimited
        | State::BudgetExhausted
        | State::Paused
        | State::Unreachable
        | State::Stopping
        | State::Stopped
        | State::Unknown => return None,
    };
    Some(v1::Waiting {
        kind: concern.word().to_owned(),
        agent: view.row.name.to_string(),
        id: 0,
        since_ms: view.since.0,
        text: view.shown.detail.clone(),
    })
}

/// Files of a purged agent that cannot be deleted.
fn stuck(purge: PurgeRow) -> v1::Waiting {
    v1::Waiting {
        kind: Concern::Purge.word().to_owned(),
        agent: purge.name,
        id: 0,
        since_ms: purge.since.0,
        text: format!("cannot delete what it had: {}", purge.error),
    }
}

fn asked(row: QuestionRow) -> v1::Waiting {
    v1::Waiting {
        kind: Concern::Question.word().to_owned(),
        agent: row.asker_name,
        id: row.id.0,
        since_ms: row.asked_at.0,
        text: first_line(&row.question),
    }
}

/// Enough to know what it is about.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().chars().take(200).collect()
}

fn undelivered(row: ReminderRow) -> v1::Waiting {
    v1::Waiting {
        kind: Concern::ReminderFailed.word().to_owned(),
        agent: row.agent_name,
        id: row.id.0,
        since_ms: row.finished_at.unwrap_or(row.due_at).0,
        text: format!("not delivered: {}", row.error),
    }
}

/// Notifications of one channel that were given up: the oldest, and how many there are.
fn untold((row, count): (OutboxRow, u32)) -> v1::Waiting {
    let what = match count {
        1 => "a notification".to_owned(),
        many => format!("{many} notifications"),
    };
    v1::Waiting {
        kind: Concern::NotificationDead.word().to_owned(),
        agent: String::new(),
        id: row.id,
        since_ms: row.finished_at.unwrap_or(row.created_at).0,
        text: format!(
            "{what} could not be delivered by {}: {}",
            row.channel, row.last_error
        ),
    }
}

fn filling_up(room: Room) -> Option<v1::Waiting> {
    let how = match room.level {
        Level::Ok => return None,
        Level::Low => "is filling up",
        Level::Full => "is full",
    };
    let mib = room.free_bytes / (1024 * 1024);
    Some(v1::Waiting {
        kind: Concern::Disk.word().to_owned(),
        agent: String::new(),
        id: 0,
        since_ms: room.since.0,
        text: format!("the hive's disk {how}: {mib} MiB are left"),
    })
}

fn shown(status: Status) -> ReconcilerStatus {
    let (at, took, summary, error) = match status.last {
        None => (UnixMs(0), 0, String::new(), String::new()),
        Some(last) => {
            let took = u32::try_from(last.took.as_millis()).unwrap_or(u32::MAX);
            match last.result {
                Ok(report) => (last.at, took, report.to_string(), String::new()),
                Err(error) => (last.at, took, String::new(), error.to_string()),
            }
        }
    };
    ReconcilerStatus {
        name: status.name.to_owned(),
        last_run_ms: at.0,
        duration_ms: took,
        summary,
        error,
    }
}
