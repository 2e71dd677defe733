//! `hive approve`: a yes to what an agent asks for.

use hive_proto::v1::{ApprovalState, DecideApprovalRequest, Decision};
use hive_proto::words;

use super::output::{self, Format};
use super::{CliError, Ctx, approval, escape};

/// Approve what an agent asks for: exactly what `hive approval show` shows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive approve 3 --note \"on weekdays only\"")]
pub struct Args {
    /// The approval's id.
    id: i64,
    /// Only if this is its digest, as it was shown.
    #[arg(long, default_value = "")]
    digest: String,
    /// What the requester is told.
    #[arg(long, default_value = "")]
    note: String,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let request = DecideApprovalRequest {
        id: args.id,
        decision: Decision::Approve.into(),
        digest: args.digest,
        note: args.note,
    };
    let decided = ctx.calls().decide(request).await?;
    let failed = decided.state() == ApprovalState::Failed;
    if args.format.json {
        approval::show(&decided, args.format)?;
    } else if !failed {
        let state = words::approval_state(decided.state());
        let result = match decided.result.as_str() {
            "" => String::new(),
            result => format!(": {}", escape::line(result)),
        };
        output::line(&format!("approval {}: {state}{result}", decided.id))?;
    }
    if failed {
        let why = &decided.result;
        return Err(CliError::failed(format!(
            "approval {}: approved, but not carried out: {why}",
            decided.id
        )));
    }
    Ok(())
}
