//! `hive inbox`: the operator's mail, an agent's mail seen by the operator, or an agent's own.

use hive_proto::v1::{ListInboxRequest, ListMailboxRequest, Message, MessageState, Reason};
use hive_proto::words;

use super::context::Side;
use super::output::{self, Format};
use super::table::{Column, Table};
use super::{CliError, Ctx, escape, shapes, when};

/// Show messages: yours, or an agent's.
///
/// Without NAME your own unread messages are shown in full and are read from then on (--peek leaves
/// them unread). Of an agent's mailbox the rows that are queued or in work are listed, and nothing
/// changes. --all adds those that are done. Inside a container it is the agent's own inbox; nothing
/// is taken out of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive inbox --all -n 20")]
pub struct Args {
    /// Whose; yours when left out.
    name: Option<String>,
    /// Also those that were read or are done.
    #[arg(long, short)]
    all: bool,
    /// At most so many, the newest.
    #[arg(short = 'n', long = "limit", default_value_t = 50, value_name = "N")]
    limit: u32,
    /// Leave your messages unread.
    #[arg(long)]
    peek: bool,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match (ctx.side(), args.name.as_deref()) {
        (Side::Operator, None | Some("operator")) => own(&args, &ctx).await,
        (Side::Operator, Some(name)) => of_agent(&args, name, &ctx).await,
        (Side::Agent, None) => inside(&args, &ctx).await,
        (Side::Agent, Some(_)) => Err(CliError::refused(
            Reason::NotPermitted,
            "an agent sees no inbox but its own",
        )
        .with_hint("leave the name out")),
    }
}

async fn own(args: &Args, ctx: &Ctx) -> Result<(), CliError> {
    let calls = ctx.calls();
    let messages = calls.mailbox(request("", args)).await?;
    show_in_full(&messages, args)?;
    let unread = messages
        .iter()
        .filter(|m| m.state() == MessageState::Queued);
    let ids: Vec<i64> = unread.map(|message| message.id).collect();
    if !args.peek && !ids.is_empty() {
        calls.mark_read(ids).await?;
    }
    Ok(())
}

async fn of_agent(args: &Args, name: &str, ctx: &Ctx) -> Result<(), CliError> {
    let messages = ctx.calls().mailbox(request(name, args)).await?;
    if args.format.json {
        return list_json(&messages);
    }
    if messages.is_empty() {
        return output::line(&format!("no {} for {name}", what(args)));
    }
    output::text(&listed(&messages, when::now_ms()))
}

async fn inside(args: &Args, ctx: &Ctx) -> Result<(), CliError> {
    let request = ListInboxRequest {
        limit: args.limit,
        unread_only: !args.all,
    };
    let messages = ctx.calls().own_inbox(request).await?;
    show_in_full(&messages, args)
}

fn request(name: &str, args: &Args) -> ListMailboxRequest {
    ListMailboxRequest {
        name: name.to_owned(),
        limit: args.limit,
        unread_only: !args.all,
    }
}

fn what(args: &Args) -> &'static str {
    if args.all {
        "messages"
    } else {
        "unread messages"
    }
}

fn list_json(messages: &[Message]) -> Result<(), CliError> {
    let list: Vec<_> = messages.iter().map(shapes::Message::from).collect();
    output::json(&list)
}

fn show_in_full(messages: &[Message], args: &Args) -> Result<(), CliError> {
    if args.format.json {
        return list_json(messages);
    }
    if messages.is_empty() {
        return output::line(&format!("no {}", what(args)));
    }
    let texts: Vec<_> = messages.iter().map(in_full).collect();
    output::text(&texts.join("\n"))
}

/// A head line, then the whole body, indented.
fn in_full(message: &Message) -> String {
    let reply = match message.in_reply_to {
        Some(id) => format!("  in reply to {id}"),
        None => String::new(),
    };
    let body = escape::block(message.body.trim_end());
    format!(
        "{}  from {}  {}{reply}\n    {}\n",
        message.id,
        escape::line(&message.from),
        when::utc(message.queued_at_ms),
        body.replace('\n', "\n    ")
    )
}

/// One row a message, bodies cut.
pub(super) fn listed(messages: &[Message], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("FROM"),
        Column::Whole("TO"),
        Column::Whole("STATE"),
        Column::Number("ATTEMPT"),
        Column::Number("AGE"),
        Column::Whole("RESULT"),
        Column::Free("BODY"),
    ]);
    for message in messages {
        let attempt = match message.attempt {
            0 => String::new(),
            attempt => attempt.to_string(),
        };
        table.row([
            message.id.to_string().into(),
            message.from.as_str().into(),
            message.to.as_str().into(),
            words::message_state(message.state()).into(),
            attempt.into(),
            when::since(message.queued_at_ms, now_ms).into(),
            message.result.as_str().into(),
            message.body.as_str().into(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Message, MessageState};

    use super::super::shapes;
    use super::{in_full, listed};

    fn message() -> Message {
        Message {
            id: 12,
            from: "lead".to_owned(),
            to: "operator".to_owned(),
            body: "The picnic:\n- bread\u{202e}\n".to_owned(),
            in_reply_to: Some(11),
            state: MessageState::Queued.into(),
            queued_at_ms: 1_700_000_000_000,
            ..Message::default()
        }
    }

    #[test]
    fn own_messages_are_shown_in_full() {
        insta::assert_snapshot!(in_full(&message()), @r"
        12  from lead  2023-11-14 22:13:20Z  in reply to 11
            The picnic:
            - bread\u{202e}
        ");
    }

    #[test]
    fn other_mailboxes_are_listed() {
        insta::assert_snapshot!(listed(&[message()], 1_700_000_060_000), @r"
        ID  FROM  TO        STATE   AGE  BODY
        12  lead  operator  queued  60s  The picnic:\n- bread\u{202e}\n
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_string_pretty(&shapes::Message::from(&message())).unwrap();
        insta::assert_snapshot!(super::escape::json(&json), @r#"
        {
          "id": 12,
          "from": "lead",
          "to": "operator",
          "body": "The picnic:\n- bread\u202e\n",
          "in_reply_to": 11,
          "state": "queued",
          "attempt": 0,
          "redelivered": false,
          "queued_at": "2023-11-14T22:13:20.000Z",
          "leased_at": null,
          "acked_at": null,
          "not_before": null,
          "result": null,
          "turn": null
        }
        "#);
    }
}
