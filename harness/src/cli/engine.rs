//! `hive engine`: the engines that are installed on this host.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::output::{self, Format, Progress};
use super::table::{Cell, Column, Table};
use super::{CliError, Ctx};
use crate::engine::install::{Done, InstallError, Request, Source, Step, install};
use crate::engine::installed::{self, Installed};

/// The engines that agents can run: install one, list them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive engine install claude")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Install(InstallArgs),
    Ls(LsArgs),
}

/// Install an engine, with the npm client or from a file; checked by hash.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive engine install claude@2.1.332")]
struct InstallArgs {
    /// NAME or NAME@VERSION; without a version the one that this hive was tested with.
    name: String,
    /// Take this program, or this tarball of its npm package, instead of asking a registry.
    #[arg(long, value_name = "FILE")]
    from: Option<std::path::PathBuf>,
}

/// List the installed engines, newest first: new turns run with the first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive engine ls --json")]
struct LsArgs {
    #[command(flatten)]
    format: Format,
}

/// One installed engine, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Shape {
    name: String,
    version: String,
    program: String,
    bytes: u64,
    sha256: Option<String>,
    /// The one that agents run.
    current: bool,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Install(args) => install_one(args, ctx).await,
        Command::Ls(args) => ls(&args, &ctx),
    }
}

async fn install_one(args: InstallArgs, ctx: Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    let source = args.from.map_or(Source::Registry, Source::File);
    let request = Request::parse(&args.name, source).map_err(refused)?;
    let engines = ctx.home.join("engines");
    let shown = Mutex::new(Progress::new());
    let progress = |step| {
        let text = match step {
            Step::Fetching => "fetching with npm …",
            Step::Checking => "checking the hash …",
            Step::Unpacking => "unpacking …",
        };
        shown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .set(text);
    };
    // Dropping the install in the middle takes what it made away again.
    let done = tokio::select! {
        done = install(&engines, &request, &progress) => done.map_err(refused)?,
        _ = tokio::signal::ctrl_c() => return Err(CliError::failed("interrupted")),
    };
    drop(shown);
    let (word, version, program) = match done {
        Done::Installed { version, program } => ("installed", version, program),
        Done::AlreadyThere { version, program } => ("already installed", version, program),
    };
    let name = args.name.split('@').next().unwrap_or_default();
    output::line(&format!("{name} {version} {word}: {}", program.display()))
}

fn ls(args: &LsArgs, ctx: &Ctx) -> Result<(), CliError> {
    let engines = ctx.home.join("engines");
    let shapes: Vec<Shape> = installed::names(&engines)
        .iter()
        .flat_map(|name| {
            let versions = installed::versions(&engines, name).into_iter();
            versions
                .enumerate()
                .map(|(place, engine)| shape(engine, place == 0))
        })
        .collect();
    if args.format.json {
        return output::json(&shapes);
    }
    if shapes.is_empty() {
        return output::line("no engines installed; `scripted` is built in");
    }
    let mut table = Table::new(&[
        Column::Whole("NAME"),
        Column::Whole("VERSION"),
        Column::Number("MB"),
        Column::Whole(""),
    ]);
    for engine in shapes {
        let current = if engine.current { "current" } else { "" };
        let megabytes = (engine.bytes / 1_000_000).to_string();
        table.row([
            Cell::from(engine.name),
            Cell::from(engine.version),
            Cell::from(megabytes),
            Cell::from(current),
        ]);
    }
    output::text(&table.render())
}

fn shape(engine: Installed, current: bool) -> Shape {
    let bytes = std::fs::metadata(&engine.program).map_or(0, |meta| meta.len());
    Shape {
        sha256: installed::recorded_sha256(&engine.program),
        program: engine.program.display().to_string(),
        name: engine.name,
        version: engine.version,
        bytes,
        current,
    }
}

fn refused(error: InstallError) -> CliError {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    match error {
        InstallError::UnknownEngine(_) | InstallError::BadVersion(_) => {
            CliError::Usage { message, hint }
        }
        InstallError::NoPackage(_)
        | InstallError::NoNpm
        | InstallError::Npm { .. }
        | InstallError::WrongHash { .. }
        | InstallError::NoMember { .. }
        | InstallError::NotAProgram { .. }
        | InstallError::NoVersion(_)
        | InstallError::Io { .. } => CliError::Failed { message, hint },
    }
}
