//! Agents on the wire.

use hive_proto::ids::UnixMs;
use hive_proto::v1;

use crate::agents::AgentView;
use crate::model::shown::State;
use crate::store::agents::Desired;

impl From<AgentView> for v1::Agent {
    fn from(view: AgentView) -> Self {
        let row = view.row;
        let desired = match row.desired {
            Desired::Running if row.paused => "paused",
            Desired::Running => "running",
            Desired::Stopped => "stopped",
        };
        let (turn_id, turn_started_ms) =
            view.turn.map_or((0, 0), |(turn, began)| (turn.0, began.0));
        Self {
            id: row.id.0,
            name: row.name.to_string(),
            role: row.role.into(),
            parent: view.parent,
            state: view.shown.state.word().to_owned(),
            state_since_ms: view.since.0,
            until_ms: ms(view.shown.until),
            detail: view.shown.detail,
            desired: desired.to_owned(),
            runtime: view.runtime.to_owned(),
            engine: row.engine,
            model: row.model,
            image: view.image,
            config_sha: row.config_sha,
            unread: view.unread,
            turns: view.turns,
            cost_today_usd: view.cost_today_usd,
            status_text: row.status_text,
            turn_started_ms,
            turn_id,
            needs_update: view.needs_update,
            stalled: view.stalled_since.is_some(),
            restarts: u32::try_from(row.restarts.len()).unwrap_or(u32::MAX),
            version: view.version,
            created_at_ms: row.created_at.0,
            runtime_id: view.runtime_id,
            rights: Some(view.rights.into()),
        }
    }
}

impl From<AgentView> for v1::AgentMeta {
    fn from(view: AgentView) -> Self {
        let running = match view.shown.state {
            State::Stopped | State::Failed | State::Unknown | State::Starting => false,
            State::Idle
            | State::Thinking
            | State::Compacting
            | State::RateLimited
            | State::NeedsLogin
            | State::BudgetExhausted
            | State::Paused
            | State::Unreachable
            | State::Stopping => true,
        };
        // What a harness that is gone said of itself says nothing of now.
        let (status_text, status_set_at_ms) = match running {
            true => (view.row.status_text, ms(view.row.status_at)),
            false => (String::new(), 0),
        };
        Self {
            name: view.row.name.to_string(),
            role: view.row.role.into(),
            hive_rev: view.version,
            running,
            status_text,
            status_set_at_ms,
            parent: view.parent,
            state: view.shown.state.word().to_owned(),
        }
    }
}

/// 0 stands for "not yet".
fn ms(at: Option<UnixMs>) -> i64 {
    at.map_or(0, |at| at.0)
}
