//! `hive agent ls`: one row an agent.

use hive_proto::v1;
use hive_proto::words;

use super::super::output::{self, Format, Tone};
use super::super::table::{Cell, Column, Table};
use super::super::{CliError, Ctx, shapes, when};

/// List the agents.
///
/// The state is worked out from connections, leases, beats and containers, never from what an
/// agent says of itself. TURN is how long the running turn has taken, COST what
/// was spent today. NOTE says why an agent is in its state, and whether it is stalled (mail unclaimed
/// for 15 minutes) or needs an update.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent ls --json")]
pub(super) struct Args {
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let agents = ctx.calls().agents().await?;
    if args.format.json {
        let list: Vec<_> = agents.iter().map(shapes::Agent::from).collect();
        return output::json(&list);
    }
    if agents.is_empty() {
        return output::line("no agents; `hive agent create NAME` makes one");
    }
    output::text(&table(&agents, when::now_ms()))
}

fn table(agents: &[v1::Agent], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Whole("NAME"),
        Column::Whole("ROLE"),
        Column::Whole("PARENT"),
        Column::Whole("STATE"),
        Column::Whole("UNTIL"),
        Column::Whole("ENGINE"),
        Column::Free("MODEL"),
        Column::Number("UNREAD"),
        Column::Number("TURN"),
        Column::Number("COST"),
        Column::Free("NOTE"),
    ]);
    for agent in agents {
        table.row([
            agent.name.as_str().into(),
            words::role(agent.role()).into(),
            agent.parent.as_str().into(),
            Cell::toned(state_tone(&agent.state), &agent.state),
            when::near(agent.until_ms, now_ms).into(),
            agent.engine.as_str().into(),
            agent.model.as_str().into(),
            agent.unread.to_string().into(),
            when::since(agent.turn_started_ms, now_ms).into(),
            cost(agent.cost_today_usd).into(),
            note(agent).into(),
        ]);
    }
    table.render()
}

/// Empty when nothing was spent, so that a hive without prices has no such column.
fn cost(usd: f64) -> String {
    if usd > 0.0 {
        format!("${usd:.2}")
    } else {
        String::new()
    }
}

fn note(agent: &v1::Agent) -> String {
    let parts = [
        agent.stalled.then(|| "stalled".to_owned()),
        agent.needs_update.then(|| "needs update".to_owned()),
        (!agent.detail.is_empty()).then(|| agent.detail.clone()),
        (!agent.status_text.is_empty()).then(|| format!("\"{}\"", agent.status_text)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The colour of a state.
pub(in super::super) fn state_tone(state: &str) -> Tone {
    match state {
        "idle" => Tone::Good,
        "thinking" | "compacting" | "starting" | "stopping" => Tone::Busy,
        "failed" | "unreachable" | "needs_login" | "budget_exhausted" | "unknown" => Tone::Bad,
        "stopped" | "paused" => Tone::Faint,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Agent, Role};

    use super::table;

    #[test]
    fn agents_are_one_row_each() {
        let boss = Agent {
            name: "lead".to_owned(),
            role: Role::Manager.into(),
            parent: "operator".to_owned(),
            state: "thinking".to_owned(),
            engine: "claude".to_owned(),
            model: "claude-sonnet-4-5".to_owned(),
            unread: 2,
            turn_started_ms: 1_000,
            cost_today_usd: 1.5,
            ..Agent::default()
        };
        let parked = Agent {
            name: "scout".to_owned(),
            role: Role::Agent.into(),
            parent: "lead".to_owned(),
            state: "rate_limited".to_owned(),
            until_ms: 1_700_000_000_000,
            detail:
                "the model's provider \u{1b}[31m limits this key for a while and says nothing more"
                    .to_owned(),
            engine: "claude".to_owned(),
            stalled: true,
            ..Agent::default()
        };
        insta::assert_snapshot!(table(&[boss, parked], 31_000), @"
        NAME   ROLE     PARENT    STATE         UNTIL                 ENGINE  MODEL         UNREAD  TURN   COST  NOTE
        lead   manager  operator  thinking                            claude  claude-sonn…       2   30s  $1.50
        scout  agent    lead      rate_limited  2023-11-14 22:13:20Z  claude                     0               stalled, th…
        ");
    }
}
