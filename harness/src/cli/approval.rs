//! `hive approval`: what agents ask for and what was decided.

use hive_proto::v1::Approval;
use hive_proto::words;
use serde_json::Value;

use super::output::{self, Format};
use super::table::{self, Column, Table};
use super::{CliError, Ctx, escape, shapes, when};

/// What agents ask for: `hive approve` and `hive deny` decide.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive approval ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(LsArgs),
    Show(ShowArgs),
}

/// List what waits for your yes or no.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive approval ls --all")]
struct LsArgs {
    /// Also what was decided, expired or cancelled.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: Format,
}

/// Show one with exactly the bytes that its digest covers.
///
/// They are printed in one line, with every hidden character escaped: that is how they are hashed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive approval show 3 --payload | tr -d '\\n' | sha256sum")]
struct ShowArgs {
    /// The approval's id.
    id: i64,
    /// Only the bytes that the digest covers.
    #[arg(long, conflicts_with = "json")]
    payload: bool,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls(args, ctx).await,
        Command::Show(args) => {
            let approval = ctx.calls().approval(args.id).await?;
            if args.payload {
                return output::line(&approval.payload);
            }
            show(&approval, args.format)
        }
    }
}

async fn ls(args: LsArgs, ctx: Ctx) -> Result<(), CliError> {
    let approvals = ctx.calls().approvals(args.all).await?;
    if args.format.json {
        let list: Vec<_> = approvals.iter().map(shapes::Approval::from).collect();
        return output::json(&list);
    }
    if approvals.is_empty() {
        return output::line("nothing waits for your decision");
    }
    let now = when::now_ms();
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("KIND"),
        Column::Whole("REQUESTER"),
        Column::Whole("STATE"),
        Column::Number("ASKED"),
        Column::Whole("BY"),
        Column::Free("WHAT"),
    ]);
    for approval in &approvals {
        let what = match approval.result.as_str() {
            "" => approval.description.as_str(),
            result => result,
        };
        table.row([
            approval.id.to_string().into(),
            approval.kind.as_str().into(),
            approval.requester.as_str().into(),
            words::approval_state(approval.state()).into(),
            when::since(approval.requested_at_ms, now).into(),
            approval.decided_by.as_str().into(),
            what.into(),
        ]);
    }
    output::text(&table.render())
}

/// Prints one.
pub(super) fn show(approval: &Approval, format: Format) -> Result<(), CliError> {
    if format.json {
        return output::json(&shapes::Approval::from(approval));
    }
    let head = table::pairs(&[
        ("id", approval.id.to_string()),
        ("kind", approval.kind.clone()),
        ("requester", escape::line(&approval.requester)),
        ("agent", escape::line(&approval.agent)),
        ("state", words::approval_state(approval.state()).to_owned()),
        ("result", escape::line(&approval.result)),
        ("asked", when::utc(approval.requested_at_ms)),
        ("expires", when::utc(approval.expires_at_ms)),
        ("decided", when::utc(approval.decided_at_ms)),
        ("by", approval.decided_by.clone()),
        ("note", escape::block(&approval.note)),
        ("it says", escape::block(&approval.description)),
        ("digest", approval.digest.clone()),
    ]);
    // For reading; what counts are the bytes below.
    let body = match body(&approval.payload) {
        Some(body) => format!("\nPROMPT\n{}\n", escape::block(body.trim_end())),
        None => String::new(),
    };
    output::text(&format!("{head}{body}\nPAYLOAD\n{}\n", approval.payload))
}

/// The prompt of a request, with its lines as lines.
fn body(payload: &str) -> Option<String> {
    let value: Value = serde_json::from_str(payload).ok()?;
    value.get("body")?.as_str().map(ToOwned::to_owned)
}
