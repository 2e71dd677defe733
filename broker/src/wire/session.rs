//! Sessions on the wire.

use std::time::Duration;

use hive_proto::v1::{self, DirectiveKind, EngineConfig, OpenSessionResponse};

use crate::config::Config;
use crate::sessions::{Directive, Opened, Opening};
use crate::store::agents::AgentRow;

/// An open session, with everything that the harness needs to run its engine.
#[must_use]
pub fn opened(config: &Config, beat: Duration, opened: Opened) -> OpenSessionResponse {
    let engine = engine(config, &opened.agent);
    let (resumed, open_turn) = match opened.opening {
        Opening::New => (false, 0),
        Opening::Resumed(turn) => (true, turn.map_or(0, |turn| turn.0)),
    };
    OpenSessionResponse {
        epoch: opened.epoch.0,
        agent_id: opened.agent.id.0,
        name: opened.agent.name.to_string(),
        role: opened.agent.role.into(),
        parent: opened.parent,
        resumed,
        open_turn,
        beat_interval_ms: u32::try_from(beat.as_millis()).unwrap_or(u32::MAX),
        engine: Some(engine),
        paused: opened.agent.paused,
        tools: Some(super::rights::tools(&opened.tools)),
    }
}

fn engine(config: &Config, agent: &AgentRow) -> EngineConfig {
    let or = |own: &str, default: &str| if own.is_empty() { default } else { own }.to_owned();
    let engine = &config.engine;
    EngineConfig {
        engine: or(&agent.engine, &config.agent.engine),
        model: or(&agent.model, &config.agent.model),
        role_prompt: agent.role_prompt.clone(),
        script: or(&agent.script, &engine.script),
        context_window_tokens: engine.context_window_tokens,
        engine_idle_secs: engine.idle_secs,
        turn_silence_secs: engine.silence_secs,
        turn_wall_secs: engine.wall_secs,
        allowed_bash_patterns: engine.allowed_bash_patterns.clone(),
        rate_limit_park_secs: engine.rate_limit_park_secs,
    }
}

impl From<Directive> for v1::Directive {
    fn from(directive: Directive) -> Self {
        let (kind, turn_id) = match directive {
            Directive::Attached => (DirectiveKind::Attached, 0),
            Directive::CancelTurn(turn) => (DirectiveKind::CancelTurn, turn.0),
            Directive::Pause => (DirectiveKind::Pause, 0),
            Directive::Resume => (DirectiveKind::Resume, 0),
            Directive::Fenced => (DirectiveKind::Fenced, 0),
            Directive::Renew => (DirectiveKind::Renew, 0),
        };
        Self {
            kind: kind.into(),
            turn_id,
        }
    }
}
