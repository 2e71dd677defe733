//! `hive serve`: the harness of one agent.

use std::io::IsTerminal as _;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use tracing_subscriber::EnvFilter;

use super::{CliError, Ctx};
use crate::app::{App, AppError};
use crate::settings::Settings;

/// Serve as an agent's harness.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  HIVE_SOCKET=/run/hive/broker.sock hive serve")]
pub struct Args {
    /// Lead a session of its own and end with the parent (the `process` runtime).
    #[arg(long, hide = true)]
    pub child: bool,
}

pub(super) async fn run(args: Args, _ctx: Ctx) -> Result<(), CliError> {
    log_to_stderr();
    // Files of the harness are nobody else's business, whatever it was started with.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    if args.child {
        become_child()?;
    }
    crate::proc::become_subreaper()?;
    let settings = Settings::read(|name| std::env::var(name).ok());
    let app = App::build(settings).await?;
    Ok(app.run().await?)
}

/// A session of its own, so that a signal to the terminal of the parent does not reach it, and TERM
/// when the parent dies: it still ends its processes then.
fn become_child() -> Result<(), CliError> {
    // Fails only for a process that leads a group already, which is all that is wanted.
    _ = setsid();
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(std::io::Error::from)?;
    Ok(())
}

/// Readable lines for the container's log; `HIVE_LOG` chooses more.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_env("HIVE_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=warn"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // A second subscriber in one process only happens in tests.
    _ = tracing::subscriber::set_global_default(subscriber);
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Ended(why) => Self::Refused(why),
            AppError::Io(error) => Self::Io(error),
            AppError::Lost => Self::failed(error.to_string()),
        }
    }
}
