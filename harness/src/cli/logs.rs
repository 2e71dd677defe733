//! `hive logs`: what an agent's harness wrote.

use hive_proto::v1::LogsRequest;

use super::{CliError, Ctx, escape, output};

/// Print the log of an agent's harness, oldest line first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive logs scout -f -n 100")]
pub struct Args {
    /// The agent's name.
    name: String,
    /// Go on with what is written from now on.
    #[arg(short, long)]
    follow: bool,
    /// Begin with so many of the newest lines.
    #[arg(short = 'n', long = "lines", default_value_t = 50, value_name = "N")]
    lines: u32,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = LogsRequest {
        name: args.name,
        follow: args.follow,
        tail: args.lines,
    };
    let mut lines = ctx.calls().logs(request).await?;
    while let Some(line) = lines.next().await? {
        output::line(&escape::block(line.text.trim_end_matches(['\n', '\r'])))?;
    }
    Ok(())
}
