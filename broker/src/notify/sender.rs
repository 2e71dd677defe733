//! One try on one channel, whichever way it goes.

use std::time::Duration;

use hive_proto::ids::UnixMs;

use super::command;
use super::notice::Notice;
use super::settings::{Channel, Way};
use super::webhook;
use crate::model::notification::Verdict;

/// How a test went on one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub channel: String,
    /// `command` or `webhook`.
    pub way: &'static str,
    /// Why nobody was told; none when somebody was.
    pub error: Option<String>,
    pub took: Duration,
}

/// Why a try failed, and what that means.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) verdict: Verdict,
}

/// Tells it.
///
/// # Errors
/// When the receiver does not say that it has it.
pub(super) async fn send(
    client: &reqwest::Client,
    channel: &Channel,
    notice: &Notice,
    payload: &str,
    now: UnixMs,
) -> Result<(), Failure> {
    let limit = channel.timeout;
    match &channel.way {
        Way::Command(program) => {
            let ran = command::run(program, limit, notice, payload).await;
            // A program says no more than that it failed: it may work the next time.
            ran.map_err(|error| Failure {
                why: error.to_string(),
                verdict: Verdict::Again { not_before: None },
            })
        }
        Way::Webhook(webhook) => {
            let posted = webhook::post(client, webhook, limit, notice, payload, now).await;
            posted.map_err(|error| Failure {
                why: error.to_string(),
                verdict: error.verdict(),
            })
        }
    }
}
