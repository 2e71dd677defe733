//! Waiting for the answer to a message: `hive send --wait`.

use std::time::{Duration, Instant};

use hive_proto::v1::{Message, MessageLife, MessageState, Outcome, Reason};
use hive_proto::words;

use super::output::{self, Format, Progress};
use super::{CliError, escape, shapes, when};
use crate::broker::CommandCalls;

/// One long poll: short while somebody watches the progress.
const WATCHED: Duration = Duration::from_secs(1);
const UNWATCHED: Duration = Duration::from_secs(30);
/// Between two tries while the daemon is away.
const AWAY: Duration = Duration::from_millis(300);

/// What is known of the message now.
#[derive(Debug, PartialEq, Eq)]
enum Stand {
    Answered,
    /// It is finished, and nothing came back: why, in one sentence.
    Unanswered(String),
    Waiting,
}

/// Waits, prints the answers and marks them as read.
pub(super) async fn wait(
    calls: &CommandCalls,
    id: i64,
    timeout: Duration,
    format: Format,
) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    let mut last = MessageLife::default();
    loop {
        let left = timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            progress.clear();
            return Err(too_late(id, timeout, &last));
        }
        let poll = if progress.is_seen() {
            WATCHED
        } else {
            UNWATCHED
        };
        match calls.wait_message(id, poll.min(left)).await {
            Ok(life) => last = life,
            // The message is on disk; the daemon comes back.
            Err(refusal) if refusal.reason == Reason::Unavailable => {
                progress.set(&format!("message {id}: hived is away"));
                tokio::time::sleep(AWAY.min(left)).await;
                continue;
            }
            Err(refusal) => return Err(refusal.into()),
        }
        match stand(&last) {
            Stand::Waiting => {}
            Stand::Answered => {
                progress.clear();
                return show(calls, &last, format).await;
            }
            Stand::Unanswered(why) => {
                progress.clear();
                return Err(CliError::failed(format!("message {id}: {why}"))
                    .with_hint(format!("`hive message show {id}` shows its whole life")));
            }
        }
        if progress.is_seen() {
            progress.set(&doing(calls, &last, begun.elapsed()).await);
        }
    }
}

/// What its recipient sent back to its sender. A message to somebody else that merely names it is no
/// answer: a manager that delegates has not answered yet.
fn answers(life: &MessageLife) -> impl Iterator<Item = &Message> {
    let (from, to) = life.message.as_ref().map_or(("", ""), |message| {
        (message.from.as_str(), message.to.as_str())
    });
    life.replies
        .iter()
        .filter(move |reply| reply.from == to && reply.to == from)
}

fn stand(life: &MessageLife) -> Stand {
    if answers(life).next().is_some() {
        return Stand::Answered;
    }
    let message = life.message.clone().unwrap_or_default();
    match message.state() {
        MessageState::Acked => Stand::Unanswered(ended(life)),
        MessageState::Dead => {
            Stand::Unanswered(format!("it is dead ({}); {}", message.result, ended(life)))
        }
        MessageState::Queued | MessageState::Leased | MessageState::Unspecified => Stand::Waiting,
    }
}

/// How its last turn ended, in words.
fn ended(life: &MessageLife) -> String {
    let Some(turn) = life.turns.last() else {
        let result = life.message.clone().unwrap_or_default().result;
        return format!("it ended `{result}` without an answer");
    };
    let outcome = match (turn.outcome(), words::failure(turn.failure())) {
        (Outcome::Failed, class) if !class.is_empty() => format!("failed ({class})"),
        (outcome, _) => words::outcome(outcome).to_owned(),
    };
    match turn.detail.as_str() {
        "" => format!("its turn ended `{outcome}` without an answer"),
        detail => format!("its turn ended `{outcome}` without an answer: {detail}"),
    }
}

fn too_late(id: i64, timeout: Duration, last: &MessageLife) -> CliError {
    let message = last.message.clone().unwrap_or_default();
    let state = match words::message_state(message.state()) {
        "" => String::new(),
        state => format!("; the message is {state} and stays"),
    };
    let waited = when::span(timeout);
    CliError::refused(Reason::Timeout, format!("no answer within {waited}{state}")).with_hint(
        format!("`hive message show {id}` shows its life; the answer will be in `hive inbox`"),
    )
}

/// The line of the progress.
async fn doing(calls: &CommandCalls, life: &MessageLife, waited: Duration) -> String {
    let message = life.message.clone().unwrap_or_default();
    let state = words::message_state(message.state());
    let waited = when::span(waited);
    match calls.agent(&message.to).await {
        Ok(agent) => format!(
            "message {} {state}, {} is {}, {waited}",
            message.id, agent.name, agent.state
        ),
        Err(_) => format!("message {} {state}, {waited}", message.id),
    }
}

async fn show(calls: &CommandCalls, life: &MessageLife, format: Format) -> Result<(), CliError> {
    if format.json {
        output::json(&shapes::Life::from(life))?;
    } else {
        for reply in answers(life) {
            output::line(escape::block(&reply.body).trim_end_matches('\n'))?;
        }
    }
    let to_operator = answers(life).filter(|reply| reply.to == "operator");
    let unread = to_operator.filter(|reply| reply.state() == MessageState::Queued);
    let ids: Vec<i64> = unread.map(|reply| reply.id).collect();
    if !ids.is_empty() {
        calls.mark_read(ids).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hive_proto::v1::{FailureClass, Message, MessageLife, MessageState, Outcome, Turn};

    use super::{Stand, stand, too_late};

    fn life(state: MessageState, turns: Vec<Turn>) -> MessageLife {
        MessageLife {
            message: Some(Message {
                id: 7,
                state: state.into(),
                ..Message::default()
            }),
            turns,
            ..MessageLife::default()
        }
    }

    #[test]
    fn an_answer_wins_and_an_end_without_one_says_how() {
        let mut answered = life(MessageState::Leased, vec![]);
        answered.replies.push(Message::default());
        assert_eq!(stand(&answered), Stand::Answered);

        assert_eq!(stand(&life(MessageState::Queued, vec![])), Stand::Waiting);

        let failed = Turn {
            outcome: Outcome::Failed.into(),
            failure: FailureClass::Refused.into(),
            detail: "the model declined".to_owned(),
            ..Turn::default()
        };
        assert_eq!(
            stand(&life(MessageState::Acked, vec![failed])),
            Stand::Unanswered(
                "its turn ended `failed (refused)` without an answer: the model declined"
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_timeout_has_its_own_exit_code_and_leaves_the_message() {
        let error = too_late(
            7,
            Duration::from_secs(600),
            &life(MessageState::Queued, vec![]),
        );
        assert_eq!(error.code(), 6);
        assert_eq!(
            error.to_string(),
            "no answer within 10m; the message is queued and stays"
        );
    }
}
