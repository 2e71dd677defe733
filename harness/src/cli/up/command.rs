//! The command: what is there already, what is started, and what to try next.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use hive_proto::v1::{HiveStatus, Reason};

use super::{choose, crew, daemon, first_config};
use crate::cli::hive_toml::HiveToml;
use crate::cli::{CliError, Ctx, output, table};

/// Start the hive: hived, if none runs, and a manager, if there is none.
///
/// hived keeps running in the background, in a session of its own. Without --runtime it is the one
/// that hive.toml names, else `docker` if a Docker engine answers and has the agent image, else
/// `process`, which isolates nothing. Without --engine the manager gets `claude` if there is a model
/// key and an installed claude, else `scripted`: a story played without a model, with two more
/// agents. A hive without a hive.toml gets one. Agents that `hive down --agents` stopped are started
/// again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive up --runtime docker --engine claude")]
pub struct Args {
    /// What holds the agents.
    #[arg(long, value_enum)]
    runtime: Option<RuntimeArg>,
    /// What runs the manager's turns, if it is created now.
    #[arg(long, value_enum)]
    engine: Option<EngineArg>,
    /// Do not wait until the agents are there.
    #[arg(long)]
    detach: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RuntimeArg {
    Docker,
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EngineArg {
    Claude,
    Scripted,
}

// === impl RuntimeArg ===

impl RuntimeArg {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Process => "process",
        }
    }
}

// === impl EngineArg ===

impl EngineArg {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Scripted => "scripted",
        }
    }
}

pub(in crate::cli) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    let config = HiveToml::read(&ctx.home)?;
    let (status, started, engine) = match running(&ctx).await? {
        Some(status) => {
            agree(&args, &status)?;
            let isolation = isolation(status.unisolated);
            let engine = choose::engine(args.engine, isolation, &config, &ctx.home)?;
            (status, Started::Before, engine)
        }
        None => {
            let (status, engine) = start(&args, &ctx, &config).await?;
            (status, Started::Now, engine)
        }
    };
    if status.unisolated {
        output::complain("warning", choose::UNISOLATED);
    }
    let crew = crew::muster(&ctx, args.engine, engine.engine).await?;
    if crew.is_new() {
        output::complain("note", &engine.why);
    }
    if crew == crew::Crew::Manager && started == Started::Before {
        output::complain("note", choose::ENVIRONMENT);
    }
    if !args.detach {
        crew::until_there(&ctx.host_calls()).await?;
    }
    farewell(&ctx, started, &crew).await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Started {
    Now,
    Before,
}

fn isolation(unisolated: bool) -> choose::Isolation {
    if unisolated {
        choose::Isolation::None
    } else {
        choose::Isolation::Container
    }
}

/// The daemon's status, if one serves already.
async fn running(ctx: &Ctx) -> Result<Option<HiveStatus>, CliError> {
    match ctx.host_calls().status().await {
        Ok(status) => Ok(Some(status)),
        Err(refusal) if refusal.reason == Reason::Unavailable => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Everything that can be refused is refused before the daemon runs.
async fn start(
    args: &Args,
    ctx: &Ctx,
    config: &HiveToml,
) -> Result<(HiveStatus, choose::EngineChoice), CliError> {
    let runtime = choose::runtime(args.runtime, config).await;
    let isolation = isolation(runtime.runtime == RuntimeArg::Process);
    let engine = choose::engine(args.engine, isolation, config, &ctx.home)?;
    private_dir(&ctx.home).map_err(|error| {
        CliError::failed(format!("cannot make {}: {error}", ctx.home.display()))
            .with_hint("name another data directory with HIVE_HOME, or run as root")
    })?;
    if !config.exists {
        first_config::write(&ctx.home, runtime.runtime, engine.engine)?;
    }
    if let Some(why) = &runtime.why {
        output::complain("note", why);
    }
    let status = daemon::start(ctx, runtime.runtime).await?;
    Ok((status, engine))
}

/// A daemon that runs already keeps its runtime.
fn agree(args: &Args, status: &HiveStatus) -> Result<(), CliError> {
    match args.runtime {
        Some(runtime) if runtime.word() != status.runtime => Err(CliError::refused(
            Reason::WrongState,
            format!("hived runs already, with the {} runtime", status.runtime),
        )
        .with_hint("`hive down` first; agents of one runtime do not move to the other")),
        _ => Ok(()),
    }
}

async fn farewell(ctx: &Ctx, started: Started, crew: &crew::Crew) -> Result<(), CliError> {
    let calls = ctx.host_calls();
    let status = calls.status().await?;
    let agents = calls.agents().await?;
    let list: Vec<_> = agents
        .iter()
        .map(|agent| format!("{} ({})", agent.name, agent.state))
        .collect();
    let head = match started {
        Started::Now => "the hive is up",
        Started::Before => "the hive was up already",
    };
    let page = match status.listen.as_str() {
        "" => String::new(),
        listen => format!("http://{listen}/"),
    };
    let facts = table::pairs(&[
        ("  runtime", status.runtime.clone()),
        ("  data", status.home.clone()),
        ("  log", daemon::log_path(&ctx.home).display().to_string()),
        ("  page", page),
        ("  agents", list.join(", ")),
    ]);
    let first = match crew {
        crew::Crew::Story => "hive send manager \"plan a picnic\" --wait",
        crew::Crew::Manager | crew::Crew::AsBefore => {
            "hive send manager \"what can you do?\" --wait"
        }
    };
    output::text(&format!(
        "{head}\n{facts}\ntry\n  {first}\n  hive agent ls\n  hive watch\n  hive doctor\n"
    ))
}

/// Makes a directory, and those above it, for this user alone; an existing one stays as it is.
pub(in crate::cli) fn private_dir(dir: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}
