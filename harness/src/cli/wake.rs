//! `hive wake`: a co-process in the container puts a message into its own agent's inbox.

use hive_proto::v1::{Reason, WakeRequest};

use super::context::Side;
use super::{CliError, Ctx, output, send};

/// Wake this container's agent with a message; prints the message's id.
///
/// For scripts and daemons that run beside an agent. The turn's prompt names LABEL as the sender.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive wake --from cron --body \"it is nine o'clock\"")]
pub struct Args {
    /// Who wakes: shaped like an agent's name, and no agent's name.
    #[arg(long, value_name = "LABEL")]
    from: String,
    /// What it says; `-` reads stdin.
    #[arg(long, value_name = "TEXT")]
    body: String,
    /// Makes a repetition harmless: the same key and body return the first id.
    #[arg(long)]
    key: Option<String>,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    if ctx.side() == Side::Operator {
        return Err(CliError::refused(
            Reason::NotPermitted,
            "`hive wake` works beside an agent, and here is the operator's socket",
        )
        .with_hint("use `hive send NAME TEXT`"));
    }
    let body = match args.body.as_str() {
        "-" => send::read_stdin()?,
        _ => args.body,
    };
    let request = WakeRequest {
        from: args.from,
        body,
        idempotency_key: args.key.unwrap_or_default(),
    };
    let woken = ctx.calls().wake(request).await?;
    output::line(&woken.id.to_string())
}
