//! Spells an answer as the Messages API does: as a stream of events or as one document.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::body::{Body, BoxError};
use super::super::refuse;
use super::answer::{Answer, End, Piece};
use super::conversation::{Conversation, Delivery};
use super::server::Cut;

/// Characters of one `text_delta`.
const DELTA_CHARS: usize = 24;

/// What happens on the wire, in order.
enum Wire {
    Send(Bytes),
    Sleep(Duration),
    Cut,
}

/// Gives an answer to the client.
pub(super) async fn respond(
    conversation: &Conversation,
    answer: Answer,
) -> Result<Response<Body>, Cut> {
    let speaks = answer
        .pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Text(_)));
    let stream = conversation.delivery == Delivery::Events;
    match &answer.end {
        End::NoAnswer => {
            pause(&answer).await;
            Err(Cut)
        }
        End::Status {
            code,
            message,
            retry_after,
        } if !(stream && speaks) => {
            pause(&answer).await;
            Ok(refused(*code, message, *retry_after))
        }
        End::Drop if !stream => {
            pause(&answer).await;
            Err(Cut)
        }
        End::Stall(time) if !stream => {
            pause(&answer).await;
            tokio::time::sleep(*time).await;
            Err(Cut)
        }
        _ if stream => Ok(streamed(wire(conversation, answer))),
        _ => {
            pause(&answer).await;
            Ok(refuse::json_response(200, &document(conversation, &answer)))
        }
    }
}

/// All the waiting of an answer at once, where nothing is sent in between.
async fn pause(answer: &Answer) {
    for piece in &answer.pieces {
        if let Piece::Wait(time) = piece {
            tokio::time::sleep(*time).await;
        }
    }
}

fn refused(code: u16, message: &str, retry_after: Option<Duration>) -> Response<Body> {
    let mut response = refuse::error(code, message);
    if let Some(time) = retry_after {
        // Whole seconds are all that the header has; a part of one counts as one.
        let seconds = time.as_millis().div_ceil(1000);
        if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
    }
    response
}

fn streamed(wire: Vec<Wire>) -> Response<Body> {
    let frames = stream::unfold(wire.into_iter(), |mut rest| async move {
        loop {
            match rest.next()? {
                Wire::Send(bytes) => return Some((Ok(Frame::data(bytes)), rest)),
                Wire::Sleep(time) => tokio::time::sleep(time).await,
                Wire::Cut => {
                    // The server sends what it holds when nothing more is ready, and an error
                    // would have it thrown away.
                    tokio::task::yield_now().await;
                    return Some((Err(BoxError::from(Cut)), rest));
                }
            }
        }
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    let events = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, events);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn wire(conversation: &Conversation, answer: Answer) -> Vec<Wire> {
    let mut wire = vec![
        event("message_start", &json!({ "message": shell(conversation) })),
        event("ping", &json!({})),
    ];
    let mut index = 0;
    for piece in &answer.pieces {
        match piece {
            Piece::Wait(time) => wire.push(Wire::Sleep(*time)),
            Piece::Text(text) => {
                let block = json!({ "type": "text", "text": "" });
                let deltas = deltas(text).map(|text| json!({ "type": "text_delta", "text": text }));
                content(&mut wire, index, &block, deltas);
                index += 1;
            }
        }
    }
    if let End::Tool(tool) = &answer.end {
        let block = json!({ "type": "tool_use", "id": tool.id, "name": tool.name, "input": {} });
        let input = tool.input.to_string();
        let deltas =
            deltas(&input).map(|part| json!({ "type": "input_json_delta", "partial_json": part }));
        content(&mut wire, index, &block, deltas);
    }
    match &answer.end {
        End::Status { code, message, .. } => wire.push(event(
            "error",
            &json!({ "error": { "type": refuse::kind(*code), "message": message } }),
        )),
        End::Stall(time) => wire.extend([Wire::Sleep(*time), Wire::Cut]),
        End::Drop | End::NoAnswer => wire.push(Wire::Cut),
        End::Turn | End::Tool(_) | End::MaxTokens | End::Refusal => {
            wire.push(event(
                "message_delta",
                &json!({
                    "delta": { "stop_reason": stop_reason(&answer.end), "stop_sequence": null },
                    "usage": { "output_tokens": output_tokens(&answer) },
                }),
            ));
            wire.push(event("message_stop", &json!({})));
        }
    }
    wire
}

/// The events of one content block.
fn content(wire: &mut Vec<Wire>, index: usize, block: &Value, deltas: impl Iterator<Item = Value>) {
    let start = json!({ "index": index, "content_block": block });
    wire.push(event("content_block_start", &start));
    for delta in deltas {
        let delta = json!({ "index": index, "delta": delta });
        wire.push(event("content_block_delta", &delta));
    }
    wire.push(event("content_block_stop", &json!({ "index": index })));
}

fn event(kind: &str, fields: &Value) -> Wire {
    let mut data = fields.clone();
    data["type"] = kind.into();
    Wire::Send(Bytes::from(format!("event: {kind}\ndata: {data}\n\n")))
}

/// A text in pieces, as a model's come; at least one.
fn deltas(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars
        .chunks(DELTA_CHARS)
        .map(|chunk| chunk.iter().collect())
        .collect();
    pieces.into_iter()
}

/// A message without content, as a stream begins.
fn shell(conversation: &Conversation) -> Value {
    json!({
        "id": format!("msg_hive_{}", Uuid::new_v4().simple()),
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": conversation.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    })
}

fn document(conversation: &Conversation, answer: &Answer) -> Value {
    let mut message = shell(conversation);
    let texts = answer.pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(json!({ "type": "text", "text": text })),
        Piece::Wait(_) => None,
    });
    let mut content: Vec<Value> = texts.collect();
    if let End::Tool(tool) = &answer.end {
        content.push(json!({
            "type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.input,
        }));
    }
    message["content"] = Value::Array(content);
    message["stop_reason"] = stop_reason(&answer.end).into();
    message["usage"]["output_tokens"] = output_tokens(answer).into();
    message
}

fn stop_reason(end: &End) -> &'static str {
    match end {
        End::Tool(_) => "tool_use",
        End::MaxTokens => "max_tokens",
        End::Refusal => "refusal",
        End::Turn | End::Status { .. } | End::Stall(_) | End::Drop | End::NoAnswer => "end_turn",
    }
}

/// A rough count: a quarter of the characters.
fn output_tokens(answer: &Answer) -> u64 {
    let texts = answer.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Wait(_) => 0,
    });
    let tool = match &answer.end {
        End::Tool(tool) => tool.input.to_string().len(),
        _ => 0,
    };
    ((texts.sum::<usize>() + tool) / 4 + 1) as u64
}
