//! `hive dead`: messages that used up their attempts, or whose recipient was purged.

use super::output::{self, Format};
use super::{CliError, Ctx, mail_list, message, when};

/// Messages that used up their attempts or whose recipient was purged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive dead ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(LsArgs),
    Requeue(RequeueArgs),
}

/// List dead messages.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive dead ls --json")]
struct LsArgs {
    #[command(flatten)]
    format: Format,
}

/// Put a dead message back at its place in its queue, with its attempts forgotten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive dead requeue 12")]
struct RequeueArgs {
    /// The message's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls(args, ctx).await,
        Command::Requeue(args) => requeue(args, ctx).await,
    }
}

async fn ls(args: LsArgs, ctx: Ctx) -> Result<(), CliError> {
    let messages = ctx.calls().dead().await?;
    if args.format.json {
        return mail_list::json(&messages);
    }
    if messages.is_empty() {
        return output::line("no dead messages");
    }
    output::text(&mail_list::rows(&messages, when::now_ms()))
}

async fn requeue(args: RequeueArgs, ctx: Ctx) -> Result<(), CliError> {
    let life = ctx.calls().requeue_dead(args.id).await?;
    if args.format.json {
        return message::show(&life, args.format);
    }
    output::line(&format!("message {}: queued again", args.id))
}
