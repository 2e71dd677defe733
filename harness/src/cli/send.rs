//! `hive send`: as the operator, or as the agent whose socket this is.

use std::io::Read as _;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::limits::BODY_BYTES;
use hive_proto::v1::{Reason, SendRequest, SendResponse};

use super::context::Side;
use super::output::{self, Format};
use super::{CliError, Ctx, reply, shapes, when};
use crate::broker::CommandCalls;

/// Send a message; prints its id once it is on disk.
///
/// TO is an agent's name, `manager`, `operator`, `<parent>` or `*`. On the host you send as the
/// operator; inside a container as its agent. Sending again with the same --key and body sends
/// nothing twice and prints the first id.
///
/// With --wait the answers sent back are printed instead of the id. If none comes, the exit code is
/// 1 when the message is finished without one, 6 when the time is over; the message stays where it
/// is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive send manager \"plan a picnic\" --wait")]
pub struct Args {
    /// Who gets it.
    to: String,
    /// What it says; `-` reads stdin.
    body: String,
    /// The message that this one answers.
    #[arg(long, value_name = "ID")]
    reply_to: Option<i64>,
    /// Makes a repetition harmless; unique for each recipient.
    #[arg(long)]
    key: Option<String>,
    /// Wait for the answer and print it.
    #[arg(long)]
    wait: bool,
    /// How long to wait: 30s, 10m, 2h.
    #[arg(long, default_value = "10m", value_parser = when::parse_duration, requires = "wait")]
    timeout: Duration,
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    if args.wait && args.to == "*" {
        return Err(CliError::usage("--wait waits for one recipient, not for *"));
    }
    if args.wait && ctx.side() == Side::Agent {
        return Err(
            CliError::refused(Reason::NotPermitted, "an agent cannot wait for an answer")
                .with_hint(
                    "send without --wait: the answer arrives in this agent's inbox as a message",
                ),
        );
    }
    let request = SendRequest {
        to: args.to.clone(),
        body: body(args.body)?,
        in_reply_to: args.reply_to,
        // A key of its own makes the retry below harmless.
        idempotency_key: args
            .key
            .unwrap_or_else(|| format!("cli-{}", uuid::Uuid::new_v4())),
    };
    let calls = ctx.calls();
    let sent = send(&calls, ctx.side(), request).await?;
    if args.wait {
        return reply::wait(&calls, sent.id, args.timeout, args.format).await;
    }
    show(&sent, args.format)
}

fn body(argument: String) -> Result<String, CliError> {
    if argument != "-" {
        return Ok(argument);
    }
    read_stdin()
}

/// Stdin as a body. One byte over the limit is read, so that the broker's refusal names it.
pub(super) fn read_stdin() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let limit = BODY_BYTES as u64 + 1;
    std::io::stdin().take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > BODY_BYTES {
        return Err(CliError::refused(
            Reason::BodyTooLarge,
            format!("stdin holds more than {BODY_BYTES} bytes"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| CliError::usage("stdin is not UTF-8"))
}

/// Sends on whichever service the socket serves. A connection that broke in the middle leaves open
/// whether the message was taken; its key makes asking again safe.
async fn send(
    calls: &CommandCalls,
    side: Side,
    request: SendRequest,
) -> Result<SendResponse, Refusal> {
    let answer = on_side(calls, side, request.clone()).await;
    match answer {
        Err(refusal) if refusal.reason == Reason::Unavailable => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            on_side(calls, side, request).await
        }
        answer => answer,
    }
}

async fn on_side(
    calls: &CommandCalls,
    side: Side,
    request: SendRequest,
) -> Result<SendResponse, Refusal> {
    match side {
        Side::Operator => calls.send(request).await,
        Side::Agent => calls.send_as_agent(request).await,
    }
}

fn show(sent: &SendResponse, format: Format) -> Result<(), CliError> {
    if format.json {
        output::json(&shapes::Sent::from(sent))?;
    } else if sent.deliveries.is_empty() {
        output::line(&sent.id.to_string())?;
    } else {
        for delivery in sent.deliveries.iter().filter(|d| d.error.is_none()) {
            output::line(&format!("{} {}", delivery.id, delivery.to))?;
        }
    }
    let refused: Vec<_> = sent
        .deliveries
        .iter()
        .filter_map(|delivery| Some((&delivery.to, delivery.error.as_ref()?)))
        .collect();
    for (to, error) in &refused {
        output::complain("error", &format!("{to}: {}", error.message));
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(CliError::Exit(1))
    }
}
