//! `hive doctor`: checks everything that a working hive needs, with the remedy for each fault.
//!
//! - [`check`]: what a check says
//! - [`host`]: data directory, disk, socket directory, clock
//! - [`daemon`]: hived, its version, its store, its sockets
//! - [`docker`]: the engine, its security options, the image, the static hive
//! - [`elf`]: whether a program needs a loader
//! - [`engine`]: claude, npm, the model's key
//! - [`notify`]: whether anything reaches the operator off-screen

mod check;
mod daemon;
mod docker;
mod elf;
mod engine;
mod host;
mod notify;

use hive_proto::v1::HiveStatus;

use super::hive_toml::HiveToml;
use super::output::{self, Format};
use super::{CliError, Ctx};
use check::{Check, Verdict};

/// Check everything that a working hive needs; exit code 1 when something fails.
///
/// Each line is ok, warn or fail, with the remedy under it. Keys are named, never shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive doctor --json")]
pub struct Args {
    #[command(flatten)]
    format: Format,
}

/// What the checks look at.
struct Patient {
    ctx: Ctx,
    config: HiveToml,
    /// The daemon's word, if it answers.
    status: Result<HiveStatus, hive_proto::Refusal>,
}

// === impl Patient ===

impl Patient {
    /// Whether agents are, or are to be, in containers.
    fn uses_docker(&self) -> bool {
        match &self.status {
            Ok(status) => status.runtime == "docker",
            // hived's own default is docker; a hive that was never started has chosen nothing yet.
            Err(_) => self.config.exists && self.config.runtime() != Some("process"),
        }
    }

    /// How bad a fault of the Docker side is.
    fn docker_fault(&self) -> Verdict {
        if self.uses_docker() {
            Verdict::Fail
        } else {
            Verdict::Warn
        }
    }
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    let checks = examine(ctx).await;
    if args.format.json {
        output::json(&check::Report::new(&checks))?;
    } else {
        output::text(&check::text(&checks))?;
    }
    if checks.iter().any(|check| check.verdict == Verdict::Fail) {
        return Err(CliError::Exit(1));
    }
    Ok(())
}

async fn examine(ctx: Ctx) -> Vec<Check> {
    let mut checks = Vec::new();
    let config = HiveToml::read(&ctx.home).unwrap_or_else(|error| {
        checks.push(Check::fail(
            "hive.toml",
            error.to_string(),
            "correct the file",
        ));
        HiveToml::default()
    });
    let status = ctx.host_calls().status().await;
    let patient = Patient {
        ctx,
        config,
        status,
    };
    checks.extend(host::examine(&patient));
    checks.extend(daemon::examine(&patient).await);
    checks.extend(docker::examine(&patient).await);
    checks.extend(engine::examine(&patient));
    checks.push(notify::examine(&patient));
    checks
}
