//! Sending, the same for an agent and for the operator.

use hive_proto::v1::{self, send_result};
use tonic::Status;

use super::status::status;
use crate::audit::Caller;
use crate::hive::Hive;
use crate::inbox::{Delivered, InboxError, Outgoing, Recipient, Sender};
use crate::model::shown::State;
use crate::refusals::Refuse as _;
use crate::wire;

/// Sends one message; its receipt names the recipient's shown state.
pub(super) async fn one(
    hive: &Hive,
    from: Sender,
    request: v1::SendRequest,
) -> Result<v1::SendResponse, Status> {
    let (to, message) = parse(request);
    let sent = hive.inbox.send(from, &to, message).await.map_err(status)?;
    note_parts(hive, from, "AgentService/Send", &sent);
    Ok(wire::delivered(sent, |sent| state(hive, sent.to)))
}

/// Sends many; each stands or falls alone.
pub(super) async fn batch(
    hive: &Hive,
    from: Sender,
    request: v1::SendBatchRequest,
) -> Result<v1::SendBatchResponse, Status> {
    let sends = request.sends.into_iter().map(parse).collect();
    let each = hive.inbox.send_batch(from, sends).await.map_err(status)?;
    const METHOD: &str = "AgentService/SendBatch";
    let results = each.into_iter().map(|result| {
        match &result {
            Ok(sent) => note_parts(hive, from, METHOD, sent),
            Err(error) => note(hive, from, METHOD, error),
        }
        let result = match result {
            Ok(sent) => send_result::Result::Ok(wire::delivered(sent, |sent| state(hive, sent.to))),
            Err(error) => send_result::Result::Error(error.refusal().detail()),
        };
        v1::SendResult {
            result: Some(result),
        }
    });
    Ok(v1::SendBatchResponse {
        results: results.collect(),
    })
}

/// Audits what was refused to an agent inside an answer: the guard sees whole answers only.
fn note(hive: &Hive, from: Sender, method: &str, error: &InboxError) {
    if let Sender::Agent(id) = from {
        let refusal = error.refusal();
        hive.audit.call_refused(Caller::Agent(id), method, &refusal);
    }
}

fn note_parts(hive: &Hive, from: Sender, method: &str, sent: &Delivered) {
    if let Delivered::All(each) = sent {
        for error in each.iter().filter_map(|(_, result)| result.as_ref().err()) {
            note(hive, from, method, error);
        }
    }
}

/// A message to be sent; an empty key is none.
pub(super) fn outgoing(body: String, in_reply_to: Option<i64>, key: String) -> Outgoing {
    Outgoing {
        body,
        in_reply_to,
        key: Some(key).filter(|key| !key.is_empty()),
    }
}

fn parse(request: v1::SendRequest) -> (String, Outgoing) {
    let message = outgoing(request.body, request.in_reply_to, request.idempotency_key);
    (request.to, message)
}

/// The recipient's shown state; empty for the operator.
pub(super) fn state(hive: &Hive, recipient: Recipient) -> String {
    match recipient {
        Recipient::Operator => String::new(),
        Recipient::Agent(id) => hive.agents.state(id).map_or_else(
            // It was made a moment ago, or is being removed.
            || State::Unknown.word().to_owned(),
            |shown| shown.state.word().to_owned(),
        ),
    }
}
