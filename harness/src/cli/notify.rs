//! `hive notify`: whether you are reached off-screen, and what did not reach you.

use hive_proto::v1;

use super::output::{self, Format, Tone};
use super::table::{Cell, Column, Table};
use super::{CliError, Ctx, escape, shapes, when};

/// Whether you are reached off-screen, and what did not reach you.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive notify test")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Test(TestArgs),
    Ls(LsArgs),
    Retry(RetryArgs),
}

/// Send a test through each channel now; exit code 1 when one fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive notify test phone")]
struct TestArgs {
    /// The channel's name in hive.toml; all of them when it is left out.
    channel: Option<String>,
    #[command(flatten)]
    format: Format,
}

/// List notifications that wait for their next try or were given up.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive notify ls --all")]
struct LsArgs {
    /// Also those that were sent.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: Format,
}

/// Give a notification that was given up all its tries again, beginning now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive notify retry 7")]
struct RetryArgs {
    /// The notification's id.
    id: i64,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    match args.command {
        Command::Test(args) => test(args, ctx).await,
        Command::Ls(args) => ls(args, ctx).await,
        Command::Retry(args) => retry(args, ctx).await,
    }
}

async fn test(args: TestArgs, ctx: Ctx) -> Result<(), CliError> {
    let channel = args.channel.unwrap_or_default();
    let tried = ctx.calls().test_notify(channel).await?;
    if args.format.json {
        let list: Vec<_> = tried.iter().map(shapes::NotifyTried::from).collect();
        output::json(&list)?;
    } else {
        output::text(&tested(&tried))?;
    }
    if tried.iter().any(|one| !one.error.is_empty()) {
        return Err(CliError::Exit(1));
    }
    Ok(())
}

/// One line a channel: a reason is shown whole.
fn tested(tried: &[v1::NotifyTried]) -> String {
    let width = tried.iter().map(|one| one.channel.len()).max().unwrap_or(0);
    let line = |one: &v1::NotifyTried| {
        let (tone, verdict) = match one.error.as_str() {
            "" => (Tone::Good, "ok  "),
            _ => (Tone::Bad, "fail"),
        };
        let what = match one.error.as_str() {
            "" => format!("{} took it in {} ms", one.way, one.duration_ms),
            error => escape::line(error),
        };
        let verdict = output::paint(tone, verdict);
        format!("{verdict}  {:width$}  {what}\n", one.channel)
    };
    tried.iter().map(line).collect()
}

async fn ls(args: LsArgs, ctx: Ctx) -> Result<(), CliError> {
    let list = ctx.calls().notifications(args.all).await?;
    if args.format.json {
        let list: Vec<_> = list.iter().map(shapes::Notification::from).collect();
        return output::json(&list);
    }
    if list.is_empty() {
        return output::line(match args.all {
            true => "no notifications",
            false => "no notification waits or was given up",
        });
    }
    output::text(&listed(&list, when::now_ms()))
}

fn listed(list: &[v1::Notification], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("CHANNEL"),
        Column::Whole("KIND"),
        Column::Number("N"),
        Column::Whole("STATE"),
        Column::Number("TRIES"),
        Column::Number("AGE"),
        Column::Whole("NEXT"),
        Column::Free("LAST ERROR"),
    ]);
    for one in list {
        let tone = match one.state.as_str() {
            "sent" => Tone::Good,
            "dead" => Tone::Bad,
            _ => Tone::Busy,
        };
        table.row([
            one.id.to_string().into(),
            one.channel.as_str().into(),
            one.kind.as_str().into(),
            one.count.to_string().into(),
            Cell::toned(tone, &one.state),
            one.tries.to_string().into(),
            when::since(one.created_at_ms, now_ms).into(),
            when::near(one.next_at_ms, now_ms).into(),
            one.last_error.as_str().into(),
        ]);
    }
    table.render()
}

async fn retry(args: RetryArgs, ctx: Ctx) -> Result<(), CliError> {
    let one = ctx.calls().retry_notification(args.id).await?;
    if args.format.json {
        return output::json(&shapes::Notification::from(&one));
    }
    output::line(&format!("notification {}: tried again", args.id))
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Notification, NotifyTried};

    use super::super::shapes;
    use super::{listed, tested};

    fn notification() -> Notification {
        Notification {
            id: 7,
            channel: "phone".into(),
            webhook_id: "msg_1".into(),
            kind: "dead".into(),
            state: "pending".into(),
            tries: 2,
            created_at_ms: 1_000,
            next_at_ms: 20_000,
            finished_at_ms: 0,
            last_error: "the receiver answered 500 \x1b[2J".into(),
            count: 3,
            title: "hive: 3 messages are dead".into(),
            text: "…".into(),
        }
    }

    #[test]
    fn people_see_what_waits_and_why() {
        let text = listed(&[notification()], 11_000);
        let lines: Vec<_> = text.lines().map(str::split_whitespace).collect();
        let lines: Vec<Vec<&str>> = lines.into_iter().map(Iterator::collect).collect();
        assert_eq!(
            lines[0].join(" "),
            "ID CHANNEL KIND N STATE TRIES AGE NEXT LAST ERROR"
        );
        let row = lines[1].join(" ");
        assert!(
            row.starts_with("7 phone dead 3 pending 2 10s 00:00:20Z the receiver answered 500"),
            "{row}"
        );
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(text.lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn a_test_says_which_channel_works() {
        let tried = |channel: &str, error: &str| NotifyTried {
            channel: channel.into(),
            way: "webhook".into(),
            error: error.into(),
            duration_ms: 12,
        };
        let all = [tried("phone", ""), tried("desk", "no answer within 10 s")];
        assert_eq!(
            tested(&all),
            "ok    phone  webhook took it in 12 ms\nfail  desk   no answer within 10 s\n"
        );
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_value(shapes::Notification::from(&notification())).unwrap();
        let keys: Vec<_> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let page = include_str!("../../../docs/cli.md");
        let mut lines = page.lines();
        let row = lines
            .find(|line| line.starts_with("| notification |"))
            .unwrap();
        for key in keys {
            assert!(row.contains(key), "docs/cli.md lacks {key}");
        }
        assert_eq!(json["next_at"], "1970-01-01T00:00:20.000Z");
        assert!(json["finished_at"].is_null());
    }
}
