//! `hive watch`: live events, resumed by their number after the daemon was away.

use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{Event, Reason, WatchRequest};

use super::output::{self, Format};
use super::{CliError, Ctx, event_line, shapes};
use crate::broker::CommandCalls;

/// Between two tries while the daemon is away.
const AWAY: Duration = Duration::from_millis(500);

/// Print events as they happen; ends by ^C.
///
/// Every event has a number that only grows. --since prints those after a number first, without a
/// gap to the live ones; --since 0 begins with the oldest that is kept. When the daemon is
/// restarted, it goes on after the last event that it printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive watch scout --since 0 --json")]
pub struct Args {
    /// Only events of this agent.
    name: Option<String>,
    /// Begin after this event.
    #[arg(long, value_name = "SEQ")]
    since: Option<i64>,
    #[command(flatten)]
    format: Format,
}

/// Where the stream stands.
struct Watch {
    calls: CommandCalls,
    agent: String,
    seen: Option<i64>,
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let calls = ctx.calls();
    let seen = match args.since {
        Some(seq) => Some(seq),
        None => last_seq(&calls).await?,
    };
    let mut watch = Watch {
        calls,
        agent: args.name.unwrap_or_default(),
        seen,
        format: args.format,
    };
    let mut reached = false;
    loop {
        match watch.once(&mut reached).await {
            // The daemon ended the stream because it stops.
            Ok(()) => {}
            Err(CliError::Refused(refusal)) if reached && is_away(&refusal) => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(AWAY).await;
    }
}

/// The newest event's number, so that the first loss of the connection leaves no gap. Absent when
/// the daemon does not say.
async fn last_seq(calls: &CommandCalls) -> Result<Option<i64>, CliError> {
    let seq = calls.status().await?.last_seq;
    Ok((seq != 0).then_some(seq))
}

fn is_away(refusal: &Refusal) -> bool {
    matches!(refusal.reason, Reason::Unavailable | Reason::Timeout)
}

// === impl Watch ===

impl Watch {
    /// Prints until the stream ends; `reached` once it was open.
    async fn once(&mut self, reached: &mut bool) -> Result<(), CliError> {
        let request = WatchRequest {
            since_seq: self.seen,
            agent: self.agent.clone(),
        };
        let mut events = self.calls.watch(request).await?;
        *reached = true;
        while let Some(event) = events.next().await? {
            self.show(&event)?;
            self.seen = Some(event.seq);
        }
        Ok(())
    }

    fn show(&self, event: &Event) -> Result<(), CliError> {
        if self.format.json {
            output::json_line(&shapes::Event::from(event))
        } else {
            output::line(&event_line::text(event))
        }
    }
}
