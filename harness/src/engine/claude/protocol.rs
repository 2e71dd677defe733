//! The lines that Claude Code prints, as far as hive needs them.
//!
//! The format is not documented and grows with every version: every field is optional, unknown
//! fields are ignored, and a line of an unknown kind is kept as it came.

use serde::Deserialize;
use serde_json::Value;

/// One line of stdout.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Init(Init),
    Assistant(Assistant),
    /// Results of tools, in their order: (tool-use id, ok).
    ToolResults(Vec<(String, bool)>),
    Result(Box<ResultLine>),
    Retry(ApiRetry),
    /// A compaction has begun.
    Compacting,
    /// A compaction was given up, with the program's own word for why.
    CompactFailed(String),
    Compacted {
        /// Tokens left in the context; 0 when not told.
        post_tokens: u64,
    },
    Notice(String),
    /// A usage limit of the account was hit, with its end in Unix seconds, where told.
    LimitReached {
        resets_at: Option<i64>,
    },
    PermissionRequest {
        request_id: String,
        tool: String,
        input: Value,
    },
    /// Some other request of the program's to hive.
    OtherRequest {
        request_id: String,
        subtype: String,
    },
    ControlReply {
        request_id: String,
        reply: Result<Value, String>,
    },
    /// Known, and nothing to do for it.
    Quiet,
    /// Not known to this version, or not JSON.
    Unknown,
}

/// Every turn begins with one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Init {
    pub(super) session_id: String,
    pub(super) model: String,
    pub(super) mcp_servers: Vec<McpServer>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct McpServer {
    pub(super) name: String,
    pub(super) status: String,
    pub(super) error: String,
}

/// One content block of the model's, or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Assistant {
    pub(super) model: String,
    pub(super) texts: Vec<String>,
    /// (tool-use id, tool name)
    pub(super) tools: Vec<(String, String)>,
    /// Tokens of the request that this block answers; 0 for a made-up message.
    pub(super) context_tokens: u64,
    /// The texts are the error of a slash command, not the model's.
    pub(super) command_failed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ApiRetry {
    pub(super) attempt: u32,
    pub(super) retry_delay_ms: f64,
    pub(super) error_status: Option<u16>,
    pub(super) error: String,
}

/// The end of a turn. `subtype` says `success` for an API error too: see `outcome.rs`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ResultLine {
    pub(super) subtype: String,
    pub(super) is_error: bool,
    pub(super) terminal_reason: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) api_error_status: Option<u16>,
    pub(super) api_error_type: Option<String>,
    pub(super) api_error: Option<String>,
    pub(super) result: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) total_cost_usd: Option<f64>,
    pub(super) usage: TokenCounts,
    pub(super) model_usage_since_last_result: serde_json::Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct TokenCounts {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
}

/// Reads one line; never fails.
pub(super) fn parse(raw: &[u8]) -> Line {
    let Ok(value) = serde_json::from_slice::<Value>(raw) else {
        return Line::Unknown;
    };
    match text(&value, "type") {
        "system" => system(value),
        "assistant" => assistant(&value),
        "user" => tool_results(&value),
        "result" => read(value).map_or(Line::Unknown, |result| Line::Result(Box::new(result))),
        "rate_limit_event" => rate_limit(&value),
        "control_request" => request(&value),
        "control_response" => reply(&value),
        "stream_event" | "tool_progress" | "keep_alive" | "control_cancel_request" => Line::Quiet,
        _ => Line::Unknown,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A typed reading of `value`. Nulls count as absent, so that a field that a later version sends
/// as null does not spoil the line.
fn read<T: serde::de::DeserializeOwned>(mut value: Value) -> Option<T> {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    serde_json::from_value(value).ok()
}

fn system(value: Value) -> Line {
    match text(&value, "subtype") {
        "init" => read(value).map_or(Line::Unknown, Line::Init),
        "api_retry" => read(value).map_or(Line::Unknown, Line::Retry),
        "status" => status(&value),
        "compact_boundary" => Line::Compacted {
            post_tokens: value
                .pointer("/compact_metadata/post_tokens")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
        },
        "informational" => Line::Notice(text(&value, "content").to_owned()),
        "permission_denied" => Line::Notice(text(&value, "message").to_owned()),
        "hook_started"
        | "hook_response"
        | "background_tasks_changed"
        | "task_started"
        | "task_updated"
        | "task_notification"
        | "model_refusal_no_fallback" => Line::Quiet,
        _ => Line::Unknown,
    }
}

fn status(value: &Value) -> Line {
    if text(value, "status") == "compacting" {
        return Line::Compacting;
    }
    match text(value, "compact_result") {
        "failed" => Line::CompactFailed(text(value, "compact_error").to_owned()),
        _ => Line::Quiet,
    }
}

fn assistant(value: &Value) -> Line {
    let Some(message) = value.get("message") else {
        return Line::Unknown;
    };
    let mut line = Assistant {
        model: text(message, "model").to_owned(),
        command_failed: text(value, "local_command_source").contains("<local-command-stderr>"),
        ..Assistant::default()
    };
    for block in message
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match text(block, "type") {
            "text" => line.texts.push(text(block, "text").to_owned()),
            "tool_use" => line
                .tools
                .push((text(block, "id").to_owned(), text(block, "name").to_owned())),
            _ => {}
        }
    }
    // A sub-agent's requests have a context of their own.
    if value.get("parent_tool_use_id").is_none_or(Value::is_null) {
        let counts: TokenCounts = message
            .get("usage")
            .cloned()
            .and_then(read)
            .unwrap_or_default();
        line.context_tokens = counts.context();
    }
    Line::Assistant(line)
}

fn tool_results(value: &Value) -> Line {
    let blocks = value.pointer("/message/content").and_then(Value::as_array);
    let ends = blocks
        .into_iter()
        .flatten()
        .filter(|block| text(block, "type") == "tool_result")
        .map(|block| {
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            (text(block, "tool_use_id").to_owned(), !failed)
        });
    Line::ToolResults(ends.collect())
}

fn rate_limit(value: &Value) -> Line {
    let Some(info) = value.get("rate_limit_info") else {
        return Line::Quiet;
    };
    match text(info, "status") {
        "rejected" => Line::LimitReached {
            resets_at: info.get("resetsAt").and_then(Value::as_i64),
        },
        _ => Line::Quiet,
    }
}

fn request(value: &Value) -> Line {
    let request_id = text(value, "request_id").to_owned();
    let body = value.get("request").cloned().unwrap_or_default();
    match text(&body, "subtype") {
        "can_use_tool" => Line::PermissionRequest {
            request_id,
            tool: text(&body, "tool_name").to_owned(),
            input: body.get("input").cloned().unwrap_or_default(),
        },
        other => Line::OtherRequest {
            request_id,
            subtype: other.to_owned(),
        },
    }
}

fn reply(value: &Value) -> Line {
    let body = value.get("response").cloned().unwrap_or_default();
    let reply = match text(&body, "subtype") {
        "success" => Ok(body.get("response").cloned().unwrap_or_default()),
        _ => Err(text(&body, "error").to_owned()),
    };
    Line::ControlReply {
        request_id: text(&body, "request_id").to_owned(),
        reply,
    }
}

// === impl TokenCounts ===

impl TokenCounts {
    /// What a request held: everything that was sent, cached or not.
    pub(super) fn context(self) -> u64 {
        self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
