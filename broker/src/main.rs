//! The `hived` program: flags, limits of the process, build, run, exit code.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hived::app::App;
use hived::config::{Config, Flags, RuntimeKind};
use hived::gateway::scripted::Standalone;
use hived::shutdown::{End, Tasks};
use hived::startup::{self, StartError};
use tokio_util::sync::CancellationToken;

/// The host daemon of a hive: holds inboxes and runs agents.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example:\n  hived --runtime docker --listen 127.0.0.1:7070"
)]
struct Args {
    #[command(subcommand)]
    instead: Option<Instead>,
    /// Data directory [default: /var/lib/hive for root, else ~/.local/share/hive]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Socket directory [default: /run/hive for root, else $XDG_RUNTIME_DIR/hive]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Address of /healthz [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Configuration file [default: hive.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What holds the agents: docker or process
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<RuntimeKind>,
}

/// What else the program does.
#[derive(Debug, Subcommand)]
enum Instead {
    /// Serve the Messages API from a script, for tests; prints its URL (see docs/scripts.md)
    #[command(after_help = "Example:\n  hived scripted-upstream --script deploy/demo.toml")]
    ScriptedUpstream {
        /// Where to listen; port 0 takes a free one
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// The script
        #[arg(long, value_name = "FILE")]
        script: PathBuf,
        /// Answer 401 to whoever does not present this key
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(instead) = args.instead {
        return rehearse(instead);
    }
    let flags = Flags {
        home: args.home,
        run: args.run,
        listen: args.listen,
        config: args.config,
        runtime: args.runtime,
    };
    match serve(flags) {
        Ok(End::Drained) => ExitCode::SUCCESS,
        Ok(End::Forced) => ExitCode::from(1),
        Ok(End::Fatal(why)) => startup::report(&why, ""),
        Err(error) => startup::report(&error.to_string(), error.hint()),
    }
}

#[tokio::main]
async fn rehearse(instead: Instead) -> ExitCode {
    let Instead::ScriptedUpstream {
        listen,
        script,
        key,
    } = instead;
    let standalone = Standalone {
        listen,
        script,
        key,
    };
    // It holds nothing that would have to be put away: a signal ends it.
    let mut stdout = std::io::stdout();
    let served = standalone.run(&mut stdout, CancellationToken::new());
    match served.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => startup::report(&error.to_string(), ""),
    }
}

#[tokio::main]
async fn serve(flags: Flags) -> Result<End, StartError> {
    startup::prepare_process();
    let config = Config::load(flags)?;
    let app = App::build(config, Tasks::default()).await?;
    app.run().await
}
