//! `hive reminder`: agents' own wake-ups: listing, cancelling, trying failed ones again.

use hive_proto::v1::{ListRemindersRequest, Reminder};
use hive_proto::words;

use super::output::{self, Format};
use super::table::{Column, Table};
use super::{CliError, Ctx, shapes, when};

/// Reminders that agents set for themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive reminder ls")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Ls(LsArgs),
    Rm(RmArgs),
    Retry(RetryArgs),
}

/// List reminders that wait for their time or have failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive reminder ls scout --json")]
struct LsArgs {
    /// Only of this agent.
    name: Option<String>,
    /// Also those that fired or were cancelled.
    #[arg(long)]
    all: bool,
    /// With --all: at most so many of the newest.
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    format: Format,
}

/// Cancel a reminder that has not fired.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive reminder rm 4")]
struct RmArgs {
    /// The reminder's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

/// Try a failed reminder again at once, its tries forgotten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive reminder retry 4")]
struct RetryArgs {
    /// The reminder's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Ls(args) => ls(args, ctx).await,
        Command::Rm(args) => {
            let reminder = ctx.calls().cancel_reminder(args.id).await?;
            done(&reminder, "cancelled", args.format)
        }
        Command::Retry(args) => {
            let reminder = ctx.calls().retry_reminder(args.id).await?;
            done(&reminder, "tried again", args.format)
        }
    }
}

async fn ls(args: LsArgs, ctx: Ctx) -> Result<(), CliError> {
    let request = ListRemindersRequest {
        agent: args.name.unwrap_or_default(),
        all: args.all,
        limit: args.limit,
    };
    let reminders = ctx.calls().reminders(request).await?;
    if args.format.json {
        let list: Vec<_> = reminders.iter().map(shapes::Reminder::from).collect();
        return output::json(&list);
    }
    if reminders.is_empty() {
        return output::line("no reminders");
    }
    output::text(&rows(&reminders, when::now_ms()))
}

fn done(reminder: &Reminder, what: &str, format: Format) -> Result<(), CliError> {
    if format.json {
        return output::json(&shapes::Reminder::from(reminder));
    }
    output::line(&format!("reminder {}: {what}", reminder.id))
}

/// One row a reminder.
fn rows(reminders: &[Reminder], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("AGENT"),
        Column::Whole("STATE"),
        Column::Whole("DUE"),
        Column::Number("TRIES"),
        Column::Whole("AGAIN"),
        Column::Free("BODY"),
        Column::Free("WHY"),
    ]);
    for one in reminders {
        let tries = match one.attempts {
            0 => String::new(),
            tries => tries.to_string(),
        };
        table.row([
            one.id.to_string().into(),
            one.agent.as_str().into(),
            words::reminder_state(one.state()).into(),
            when::near(one.due_at_ms, now_ms).into(),
            tries.into(),
            when::near(one.not_before_ms, now_ms).into(),
            one.body.as_str().into(),
            one.error.as_str().into(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Reminder, ReminderState};

    use super::super::shapes;
    use super::rows;

    fn reminder() -> Reminder {
        Reminder {
            id: 4,
            agent: "scout".to_owned(),
            body: "look again\u{202e}".to_owned(),
            due_at_ms: 1_700_000_000_000,
            attempts: 5,
            state: ReminderState::Failed.into(),
            set_at_ms: 1_699_999_000_000,
            error: "its mailbox holds 10000 messages".to_owned(),
            ..Reminder::default()
        }
    }

    #[test]
    fn reminders_are_listed_with_why_they_failed() {
        insta::assert_snapshot!(rows(&[reminder()], 1_700_000_060_000), @r"
        ID  AGENT  STATE   DUE        TRIES  BODY                WHY
         4  scout  failed  22:13:20Z      5  look again\u{202e}  its mailbox holds 10000 messages
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_value(shapes::Reminder::from(&reminder())).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "id": 4, "agent": "scout", "body": "look again\u{202e}",
                "due_at": "2023-11-14T22:13:20.000Z", "attempts": 5, "state": "failed",
                "set_at": "2023-11-14T21:56:40.000Z", "not_before": null,
                "error": "its mailbox holds 10000 messages", "message": null, "finished_at": null,
            })
        );
    }
}
