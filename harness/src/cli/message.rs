//! `hive message show`: one message and all that happened to it.

use hive_proto::v1::{Message, MessageLife, Turn};
use hive_proto::words;

use super::output::{self, Format};
use super::table::{self, Column, Table};
use super::{CliError, Ctx, escape, event_line, shapes, when};

/// Look at single messages.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive message show 12")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Show(ShowArgs),
}

/// Show a message with its whole life: queued, leased, attempts, turns, answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive message show 12 --json")]
struct ShowArgs {
    /// The message's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let Command::Show(args) = args.command;
    let life = ctx.calls().message(args.id).await?;
    show(&life, args.format)
}

/// Prints a life.
pub(super) fn show(life: &MessageLife, format: Format) -> Result<(), CliError> {
    if format.json {
        return output::json(&shapes::Life::from(life));
    }
    output::text(&text(life))
}

fn text(life: &MessageLife) -> String {
    let message = life.message.clone().unwrap_or_default();
    let parts = [
        head(&message),
        format!("{}\n", escape::block(message.body.trim_end())),
        section("LIFE", &life.events, event_line::text),
        turns(&life.turns),
        section("ANSWERS", &life.replies, |reply| {
            let body = table::cut(&escape::line(&reply.body), 60);
            format!("{}  from {}  {body}", reply.id, escape::line(&reply.from))
        }),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn head(message: &Message) -> String {
    let redelivered = if message.redelivered { "yes" } else { "" };
    table::pairs(&[
        ("id", message.id.to_string()),
        ("from", escape::line(&message.from)),
        ("to", escape::line(&message.to)),
        (
            "in reply to",
            message
                .in_reply_to
                .map(|id| id.to_string())
                .unwrap_or_default(),
        ),
        ("state", words::message_state(message.state()).to_owned()),
        ("result", message.result.clone()),
        ("attempts", message.attempt.to_string()),
        ("redelivered", redelivered.to_owned()),
        ("queued", when::utc(message.queued_at_ms)),
        ("leased", when::utc(message.leased_at_ms)),
        ("not before", when::utc(message.not_before_ms)),
        ("acked", when::utc(message.acked_at_ms)),
    ])
}

fn section<T>(title: &str, items: &[T], line: impl Fn(&T) -> String) -> String {
    if items.is_empty() {
        return String::new();
    }
    let lines: String = items
        .iter()
        .map(|item| format!("  {}\n", line(item)))
        .collect();
    format!("{title}\n{lines}")
}

fn turns(turns: &[Turn]) -> String {
    if turns.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        Column::Number("TURN"),
        Column::Whole("AGENT"),
        Column::Whole("ENGINE"),
        Column::Whole("OUTCOME"),
        Column::Number("TOOK"),
        Column::Number("TOKENS"),
        Column::Number("COST"),
        Column::Free("DETAIL"),
    ]);
    for turn in turns {
        let usage = turn.usage.unwrap_or_default();
        let tokens = usage.input_tokens
            + usage.output_tokens
            + usage.cache_read_tokens
            + usage.cache_write_tokens;
        let shown = |text: String, wanted: bool| if wanted { text } else { String::new() };
        table.row([
            turn.id.to_string().into(),
            turn.agent.as_str().into(),
            turn.engine.as_str().into(),
            outcome(turn).into(),
            when::since(turn.started_at_ms, ended(turn)).into(),
            shown(tokens.to_string(), tokens > 0).into(),
            shown(format!("${:.4}", usage.cost_usd), usage.cost_usd > 0.0).into(),
            turn.detail.as_str().into(),
        ]);
    }
    table.render()
}

fn ended(turn: &Turn) -> i64 {
    match turn.ended_at_ms {
        0 => when::now_ms(),
        at => at,
    }
}

fn outcome(turn: &Turn) -> String {
    let class = words::failure(turn.failure());
    match words::outcome(turn.outcome()) {
        "" => "running".to_owned(),
        outcome if class.is_empty() => outcome.to_owned(),
        outcome => format!("{outcome} ({class})"),
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{
        Event, FailureClass, Message, MessageLife, MessageState, Outcome, Turn, Usage,
    };

    use super::super::shapes;
    use super::text;

    fn life() -> MessageLife {
        let turn = Turn {
            id: 3,
            agent: "lead".to_owned(),
            message_id: 12,
            engine: "claude".to_owned(),
            started_at_ms: 1_700_000_001_000,
            ended_at_ms: 1_700_000_004_000,
            outcome: Outcome::Failed.into(),
            failure: FailureClass::Overloaded.into(),
            detail: "529".to_owned(),
            usage: Some(Usage {
                input_tokens: 100,
                output_tokens: 20,
                cost_usd: 0.0123,
                ..Usage::default()
            }),
            ..Turn::default()
        };
        MessageLife {
            message: Some(Message {
                id: 12,
                from: "operator".to_owned(),
                to: "lead".to_owned(),
                body: "plan a picnic".to_owned(),
                state: MessageState::Queued.into(),
                attempt: 1,
                redelivered: true,
                queued_at_ms: 1_700_000_000_000,
                not_before_ms: 1_700_000_009_000,
                ..Message::default()
            }),
            events: vec![Event {
                seq: 40,
                at_ms: 1_700_000_000_000,
                kind: "message.queued".to_owned(),
                agent: "lead".to_owned(),
                data_json: "{\"id\":12,\"from\":\"operator\"}".to_owned(),
            }],
            turns: vec![turn],
            replies: vec![Message {
                id: 13,
                from: "lead".to_owned(),
                body: "on\nit".to_owned(),
                ..Message::default()
            }],
        }
    }

    #[test]
    fn a_life_is_told_from_top_to_bottom() {
        insta::assert_snapshot!(text(&life()), @r"
        id           12
        from         operator
        to           lead
        state        queued
        attempts     1
        redelivered  yes
        queued       2023-11-14 22:13:20Z
        not before   2023-11-14 22:13:29Z

        plan a picnic

        LIFE
          40  2023-11-14 22:13:20Z  message.queued  lead  from=operator  id=12

        TURN  AGENT  ENGINE  OUTCOME              TOOK  TOKENS     COST  DETAIL
           3  lead   claude  failed (overloaded)    3s     120  $0.0123  529

        ANSWERS
          13  from lead  on\nit
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_string_pretty(&shapes::Life::from(&life())).unwrap();
        insta::assert_snapshot!(json, @r#"
        {
          "id": 12,
          "from": "operator",
          "to": "lead",
          "body": "plan a picnic",
          "in_reply_to": null,
          "state": "queued",
          "attempt": 1,
          "redelivered": true,
          "queued_at": "2023-11-14T22:13:20.000Z",
          "leased_at": null,
          "acked_at": null,
          "not_before": "2023-11-14T22:13:29.000Z",
          "result": null,
          "turn": null,
          "events": [
            {
              "seq": 40,
              "at": "2023-11-14T22:13:20.000Z",
              "kind": "message.queued",
              "agent": "lead",
              "data": {
                "from": "operator",
                "id": 12
              }
            }
          ],
          "turns": [
            {
              "id": 3,
              "agent": "lead",
              "message": 12,
              "engine": "claude",
              "model": null,
              "outcome": "failed",
              "failure": "overloaded",
              "detail": "529",
              "started_at": "2023-11-14T22:13:21.000Z",
              "ended_at": "2023-11-14T22:13:24.000Z",
              "tokens": {
                "input": 100,
                "output": 20,
                "cache_read": 0,
                "cache_write": 0
              },
              "cost_usd": 0.0123,
              "context": null,
              "tool_calls": 0
            }
          ],
          "replies": [
            {
              "id": 13,
              "from": "lead",
              "to": "",
              "body": "on\nit",
              "in_reply_to": null,
              "state": "",
              "attempt": 0,
              "redelivered": false,
              "queued_at": null,
              "leased_at": null,
              "acked_at": null,
              "not_before": null,
              "result": null,
              "turn": null
            }
          ]
        }
        "#);
    }
}
