//! `hive agent …`: the agents, one file for each kind of act.
//!
//! - [`ls`], [`show`]: what is there
//! - [`create`], [`rm`]: making and removing
//! - [`relocate`], [`rights`]: its place in the tree, what it may do
//! - [`act`]: start, stop, restart, pause, resume, cancel

mod act;
mod create;
mod ls;
mod relocate;
mod rights;
mod rm;
mod show;

use super::{CliError, Ctx};

pub(super) use ls::state_tone;

/// The agents: list, create, start, stop, look at.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(ls::Args),
    Create(create::Args),
    Show(show::Args),
    Start(act::StartArgs),
    Stop(act::StopArgs),
    Restart(act::RestartArgs),
    Pause(act::PauseArgs),
    Resume(act::ResumeArgs),
    Cancel(act::CancelArgs),
    Move(relocate::Args),
    Rights(rights::Args),
    Rm(rm::Args),
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls::run(args, ctx).await,
        Command::Create(args) => create::run(args, ctx).await,
        Command::Show(args) => show::run(args, ctx).await,
        Command::Start(args) => act::start(args, ctx).await,
        Command::Stop(args) => act::stop(args, ctx).await,
        Command::Restart(args) => act::restart(args, ctx).await,
        Command::Pause(args) => act::pause(args, ctx).await,
        Command::Resume(args) => act::resume(args, ctx).await,
        Command::Cancel(args) => act::cancel(args, ctx).await,
        Command::Move(args) => relocate::run(args, ctx).await,
        Command::Rights(args) => rights::run(args, ctx).await,
        Command::Rm(args) => rm::run(args, ctx).await,
    }
}
