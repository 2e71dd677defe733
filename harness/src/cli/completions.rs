//! `hive completions`: scripts for the shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, CliError, output};

/// Print the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  source <(hive completions bash)")]
pub struct Args {
    /// Which shell.
    #[arg(value_enum)]
    shell: ShellArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let shell = match args.shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Zsh => Shell::Zsh,
        ShellArg::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hive", &mut script);
    output::text(&String::from_utf8_lossy(&script))
}
