//! The operator's mail: sending, mailboxes, one message's life, dead letters.

use std::time::Duration;

use hive_proto::ids::MessageId;
use hive_proto::v1::{self, ListMessagesResponse, MessageLife};
use tonic::Response;

use super::Reply;
use crate::hive::Hive;
use crate::inbox::{Life, Listing, Mailbox, Recipient, Sender};
use crate::rpc::send;
use crate::rpc::status::status;

pub(super) async fn send(hive: &Hive, request: v1::SendRequest) -> Reply<v1::SendResponse> {
    let sent = send::one(hive, Sender::Operator, request).await;
    sent.map(Response::new)
}

pub(super) async fn send_batch(
    hive: &Hive,
    request: v1::SendBatchRequest,
) -> Reply<v1::SendBatchResponse> {
    let sent = send::batch(hive, Sender::Operator, request).await;
    sent.map(Response::new)
}

pub(super) async fn list(
    hive: &Hive,
    request: v1::ListMailboxRequest,
) -> Reply<ListMessagesResponse> {
    let mailbox = match request.name.as_str() {
        "" | "operator" => Mailbox::Of(Recipient::Operator),
        _ => Mailbox::Named(request.name),
    };
    let listing = match request.unread_only {
        true => Listing::Unfinished,
        false => Listing::Everything,
    };
    let rows = hive.inbox.list(mailbox, listing, request.limit).await;
    let messages = rows.map_err(status)?.into_iter().map(Into::into).collect();
    Ok(Response::new(ListMessagesResponse { messages }))
}

pub(super) async fn mark_read(
    hive: &Hive,
    request: v1::MarkReadRequest,
) -> Reply<v1::MarkReadResponse> {
    let ids = request.ids.into_iter().map(MessageId).collect();
    let marked = hive.inbox.mark_read(ids).await.map_err(status)?;
    Ok(Response::new(v1::MarkReadResponse { marked }))
}

pub(super) async fn get(hive: &Hive, request: v1::GetMessageRequest) -> Reply<MessageLife> {
    let life = hive.inbox.life(MessageId(request.id)).await;
    shown(life.map_err(status)?)
}

pub(super) async fn wait(hive: &Hive, request: v1::WaitMessageRequest) -> Reply<MessageLife> {
    let wait = Duration::from_millis(request.wait_ms.into());
    let life = hive.inbox.wait(MessageId(request.id), wait).await;
    shown(life.map_err(status)?)
}

pub(super) async fn dead(hive: &Hive) -> Reply<ListMessagesResponse> {
    let rows = hive.inbox.dead().await.map_err(status)?;
    let messages = rows.into_iter().map(Into::into).collect();
    Ok(Response::new(ListMessagesResponse { messages }))
}

pub(super) async fn requeue(hive: &Hive, request: v1::GetMessageRequest) -> Reply<MessageLife> {
    let life = hive.inbox.requeue_dead(MessageId(request.id)).await;
    shown(life.map_err(status)?)
}

fn shown(life: Life) -> Reply<MessageLife> {
    Ok(Response::new(life.into()))
}
