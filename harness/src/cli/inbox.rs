//! `hive inbox`: the operator's mail, an agent's mail seen by the operator, or an agent's own.

use hive_proto::v1::{ListInboxRequest, ListMailboxRequest, Message, MessageState, Reason};

use super::context::Side;
use super::output::{self, Format};
use super::{CliError, Ctx, mail_list, when};

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
        return mail_list::json(&messages);
    }
    if messages.is_empty() {
        return output::line(&format!("no {} for {name}", what(args)));
    }
    output::text(&mail_list::rows(&messages, when::now_ms()))
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

fn show_in_full(messages: &[Message], args: &Args) -> Result<(), CliError> {
    if args.format.json {
        return mail_list::json(messages);
    }
    if messages.is_empty() {
        return output::line(&format!("no {}", what(args)));
    }
    let texts: Vec<_> = messages.iter().map(mail_list::in_full).collect();
    output::text(&texts.join("\n"))
}
