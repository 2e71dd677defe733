//! `hive deny`: a no to what an agent asks for.

use hive_proto::v1::{DecideApprovalRequest, Decision};

use super::output::{self, Format};
use super::{CliError, Ctx, approval};

/// Deny what an agent asks for.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive deny 3 --note \"once a day is enough\"")]
pub struct Args {
    /// The approval's id.
    id: i64,
    /// What the requester is told.
    #[arg(long, default_value = "")]
    note: String,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = DecideApprovalRequest {
        id: args.id,
        decision: Decision::Deny.into(),
        digest: String::new(),
        note: args.note,
    };
    let decided = ctx.calls().decide(request).await?;
    if args.format.json {
        return approval::show(&decided, args.format);
    }
    output::line(&format!("approval {}: denied", decided.id))
}
