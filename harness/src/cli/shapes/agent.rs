//! An agent as a JSON document.

use hive_proto::{v1, words};
use serde::Serialize;

use super::super::when;
use super::absent::{id, text};

/// An agent as shown.
#[derive(Debug, Serialize)]
pub(in super::super) struct Agent {
    id: i64,
    name: String,
    role: &'static str,
    parent: Option<String>,
    state: String,
    state_since: Option<String>,
    until: Option<String>,
    detail: Option<String>,
    desired: String,
    runtime: String,
    runtime_id: Option<String>,
    engine: String,
    model: Option<String>,
    image: Option<String>,
    unread: u32,
    turns: u64,
    turn: Option<i64>,
    turn_started_at: Option<String>,
    cost_today_usd: f64,
    status_text: Option<String>,
    config_sha: Option<String>,
    needs_update: bool,
    stalled: bool,
    restarts: u32,
    version: Option<String>,
    created_at: Option<String>,
    /// `null`: everybody.
    recipients: Option<Vec<String>>,
    /// `null`: all of its role.
    tool_groups: Option<Vec<&'static str>>,
}

// === impl Agent ===

impl From<&v1::Agent> for Agent {
    fn from(agent: &v1::Agent) -> Self {
        let rights = agent.rights.clone().unwrap_or_default();
        Self {
            id: agent.id,
            name: agent.name.clone(),
            role: words::role(agent.role()),
            parent: text(&agent.parent),
            state: agent.state.clone(),
            state_since: when::json(agent.state_since_ms),
            until: when::json(agent.until_ms),
            detail: text(&agent.detail),
            desired: agent.desired.clone(),
            runtime: agent.runtime.clone(),
            runtime_id: text(&agent.runtime_id),
            engine: agent.engine.clone(),
            model: text(&agent.model),
            image: text(&agent.image),
            unread: agent.unread,
            turns: agent.turns,
            turn: id(agent.turn_id),
            turn_started_at: when::json(agent.turn_started_ms),
            cost_today_usd: agent.cost_today_usd,
            status_text: text(&agent.status_text),
            config_sha: text(&agent.config_sha),
            needs_update: agent.needs_update,
            stalled: agent.stalled,
            restarts: agent.restarts,
            version: text(&agent.version),
            created_at: when::json(agent.created_at_ms),
            recipients: rights
                .recipients
                .filter(|rule| !rule.anyone)
                .map(|rule| rule.only),
            tool_groups: rights
                .tools
                .filter(|rule| !rule.all)
                .map(|rule| rule.only().map(words::tool_group).collect()),
        }
    }
}
