//! The `hive` program: parse, run the command, exit with its code.

use std::process::ExitCode;

use clap::Parser;
use hive::cli::{Cli, report};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return report(&error.into()),
    };
    let result = runtime.block_on(cli.run());
    // A command that ended must not wait for a blocking read of stdin.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}
