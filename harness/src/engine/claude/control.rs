//! The lines that Claude Code reads: prompts, requests, and answers to its own requests.

use serde_json::{Value, json};

/// A prompt, as a line of stdin.
pub(super) fn user_message(content: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content}})
}

/// A request to the program, as a line of stdin.
pub(super) fn control_request(id: &str, request: Value) -> Value {
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// The answer to a request of the program's, as a line of stdin.
pub(super) fn control_answer(id: &str, response: Value) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    })
}

/// Says that hive does not know a request of the program's, so that it does not wait for ever.
pub(super) fn control_refusal(id: &str, why: &str) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": id, "error": why},
    })
}
