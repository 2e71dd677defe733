//! `hive agent show`: everything known of one agent.

use hive_proto::v1;
use hive_proto::words;

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, escape, shapes, table, when};

/// Show everything known of one agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent show scout")]
pub(super) struct Args {
    /// The agent's name.
    name: String,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let agent = ctx.calls().agent(&args.name).await?;
    if args.format.json {
        return output::json(&shapes::Agent::from(&agent));
    }
    output::text(&text(&agent, when::now_ms()))
}

fn text(agent: &v1::Agent, now_ms: i64) -> String {
    let tone = super::state_tone(&agent.state);
    let since = when::since(agent.state_since_ms, now_ms);
    let state = output::paint(tone, &agent.state);
    let for_ = if since.is_empty() {
        String::new()
    } else {
        format!(" for {since}")
    };
    let turn = match agent.turn_id {
        0 => String::new(),
        id => format!("{id}, for {}", when::since(agent.turn_started_ms, now_ms)),
    };
    let (recipients, tools) = super::rights::shown(agent);
    table::pairs(&[
        ("name", agent.name.clone()),
        ("id", agent.id.to_string()),
        ("role", words::role(agent.role()).to_owned()),
        ("parent", agent.parent.clone()),
        ("may write to", recipients),
        ("tools", tools),
        ("state", format!("{state}{for_}")),
        ("until", when::utc(agent.until_ms)),
        ("detail", escape::line(&agent.detail)),
        ("desired", agent.desired.clone()),
        ("flags", flags(agent)),
        ("says", escape::line(&agent.status_text)),
        ("turn", turn),
        ("turns", agent.turns.to_string()),
        ("unread", agent.unread.to_string()),
        ("cost today", format!("${:.2}", agent.cost_today_usd)),
        ("engine", agent.engine.clone()),
        ("model", escape::line(&agent.model)),
        ("runtime", agent.runtime.clone()),
        ("runtime id", agent.runtime_id.clone()),
        ("image", escape::line(&agent.image)),
        ("config", agent.config_sha.clone()),
        ("restarts", agent.restarts.to_string()),
        ("hive version", escape::line(&agent.version)),
        ("created", when::utc(agent.created_at_ms)),
    ])
}

fn flags(agent: &v1::Agent) -> String {
    let flags = [
        agent.stalled.then_some("stalled"),
        agent.needs_update.then_some("needs update"),
    ];
    flags.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Agent, Role};

    use super::super::super::shapes;
    use super::text;

    fn agent() -> Agent {
        Agent {
            id: 3,
            name: "scout".to_owned(),
            role: Role::Agent.into(),
            parent: "lead".to_owned(),
            state: "idle".to_owned(),
            state_since_ms: 1_700_000_000_000,
            desired: "running".to_owned(),
            runtime: "docker".to_owned(),
            engine: "claude".to_owned(),
            status_text: "red \u{1b}[31m".to_owned(),
            turns: 12,
            ..Agent::default()
        }
    }

    #[test]
    fn an_agents_texts_cannot_steer_the_terminal() {
        insta::assert_snapshot!(text(&agent(), 1_700_000_005_000), @r"
        name        scout
        id          3
        role        agent
        parent      lead
        state       idle for 5s
        desired     running
        says        red \u{1b}[31m
        turns       12
        unread      0
        cost today  $0.00
        engine      claude
        runtime     docker
        restarts    0
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&shapes::Agent::from(&agent())).unwrap(), @r#"
        {
          "id": 3,
          "name": "scout",
          "role": "agent",
          "parent": "lead",
          "state": "idle",
          "state_since": "2023-11-14T22:13:20.000Z",
          "until": null,
          "detail": null,
          "desired": "running",
          "runtime": "docker",
          "runtime_id": null,
          "engine": "claude",
          "model": null,
          "image": null,
          "unread": 0,
          "turns": 12,
          "turn": null,
          "turn_started_at": null,
          "cost_today_usd": 0.0,
          "status_text": "red \u001b[31m",
          "config_sha": null,
          "needs_update": false,
          "stalled": false,
          "restarts": 0,
          "version": null,
          "created_at": null,
          "recipients": null,
          "tool_groups": null
        }
        "#);
    }
}
