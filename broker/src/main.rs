//! The `hived` program: flags, limits of the process, build, run, exit code.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hived::app::App;
use hived::config::{Config, Flags, RuntimeKind};
use hived::shutdown::{End, Tasks};
use hived::startup::{self, StartError};

/// The host daemon of a hive: holds inboxes and runs agents.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example:\n  hived --runtime docker --listen 127.0.0.1:7070"
)]
struct Args {
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

fn main() -> ExitCode {
    let args = Args::parse();
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
async fn serve(flags: Flags) -> Result<End, StartError> {
    startup::prepare_process();
    let config = Config::load(flags)?;
    let app = App::build(config, Tasks::default()).await?;
    app.run().await
}
