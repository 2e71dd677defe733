//! `hive agent start|stop|restart|pause|resume|cancel`: one call each, then the agent's state.

use hive_proto::Refusal;
use hive_proto::v1::{Agent, StopAgentRequest};

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes};

/// Which agent, and how to print what became of it.
#[derive(Debug, clap::Args)]
struct Which {
    /// The agent's name.
    name: String,
    #[command(flatten)]
    format: Format,
}

/// Start an agent that was stopped or has failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent start scout")]
pub(super) struct StartArgs {
    #[command(flatten)]
    which: Which,
}

/// Stop an agent: its harness has 10 seconds to end, its mail queues meanwhile.
///
/// A turn that runs is interrupted; its message runs again when the agent is started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent stop scout")]
pub(super) struct StopArgs {
    #[command(flatten)]
    which: Which,
    /// Kill it at once.
    #[arg(long)]
    now: bool,
}

/// Stop an agent and start it again, with the installed hive and its present settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent restart scout")]
pub(super) struct RestartArgs {
    #[command(flatten)]
    which: Which,
}

/// Let an agent start no further turn; a running one goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent pause scout")]
pub(super) struct PauseArgs {
    #[command(flatten)]
    which: Which,
}

/// Let a paused agent take its mail again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent resume scout")]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

/// End the running turn; its message is finished, and its sender is told.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive agent cancel scout")]
pub(super) struct CancelArgs {
    #[command(flatten)]
    which: Which,
}

pub(super) async fn start(args: StartArgs, ctx: Ctx) -> Result<(), CliError> {
    let answer = ctx.calls().start_agent(&args.which.name).await;
    show(answer, &args.which)
}

pub(super) async fn stop(args: StopArgs, ctx: Ctx) -> Result<(), CliError> {
    let request = StopAgentRequest {
        name: args.which.name.clone(),
        now: args.now,
    };
    show(ctx.calls().stop_agent(request).await, &args.which)
}

pub(super) async fn restart(args: RestartArgs, ctx: Ctx) -> Result<(), CliError> {
    let answer = ctx.calls().restart_agent(&args.which.name).await;
    show(answer, &args.which)
}

pub(super) async fn pause(args: PauseArgs, ctx: Ctx) -> Result<(), CliError> {
    let answer = ctx.calls().pause_agent(&args.which.name).await;
    show(answer, &args.which)
}

pub(super) async fn resume(args: ResumeArgs, ctx: Ctx) -> Result<(), CliError> {
    let answer = ctx.calls().resume_agent(&args.which.name).await;
    show(answer, &args.which)
}

pub(super) async fn cancel(args: CancelArgs, ctx: Ctx) -> Result<(), CliError> {
    let answer = ctx.calls().cancel_turn(&args.which.name).await;
    show(answer, &args.which)
}

fn show(answer: Result<Agent, Refusal>, which: &Which) -> Result<(), CliError> {
    let agent = answer?;
    if which.format.json {
        return output::json(&shapes::Agent::from(&agent));
    }
    output::line(&format!("{}: {}", agent.name, agent.state))
}
