//! `hive schedule`: prompts on a timetable, one file an act.

mod create;
mod edit;
mod fire;
mod ls;
mod rm;
mod show;
mod timing;

use super::{CliError, Ctx};

/// Prompts that are sent to agents on a timetable.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive schedule ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(ls::Args),
    Show(show::Args),
    Create(create::Args),
    Edit(edit::Args),
    Rm(rm::Args),
    Fire(fire::Args),
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls::run(args, ctx).await,
        Command::Show(args) => show::run(args, ctx).await,
        Command::Create(args) => create::run(args, ctx).await,
        Command::Edit(args) => edit::run(args, ctx).await,
        Command::Rm(args) => rm::run(args, ctx).await,
        Command::Fire(args) => fire::run(args, ctx).await,
    }
}
