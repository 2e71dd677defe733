//! `hive detach`: becomes another program in a session of its own, so that the end of the terminal
//! does not end it. `hive up` starts `hived` by it; nobody else needs it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::CliError;

/// Run a program in a session of its own.
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Example:\n  hive detach -- hived")]
pub struct Args {
    /// The program and its arguments.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    // Fails only for a process that leads a session already, and then nothing is left to do.
    _ = rustix::process::setsid();
    let Some((program, rest)) = args.command.split_first() else {
        return Err(CliError::usage("there is no program to run"));
    };
    // Returns only when it failed.
    Err(Command::new(program).args(rest).exec().into())
}
