//! The adapter between rmcp and the tools.
//!
//! A tool body runs in a task of its own: a panic in a handler would answer nothing, and the engine
//! would hang until its own timeout. A long call sends progress: without it claude gives a call up
//! after 60 s, since rmcp answers no headers before the first message.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval_at};

use super::remote::Remote;
use crate::tools::{self, CallKey, ToolContext};

/// A call that is done before this needs no sign of life.
const FIRST_PROGRESS: Duration = Duration::from_millis(500);
const PROGRESS: Duration = Duration::from_secs(10);
/// claude's own id of the tool use, the same as in its stream.
const TOOL_USE_ID: &str = "claudecode/toolUseId";

/// Where the tools run.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In this process.
    Here(Box<ToolContext>),
    /// In the harness of this container.
    Harness(Box<Remote>),
}

/// What rmcp calls.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    place: Place,
}

// === impl Place ===

impl Place {
    /// The tools that the agent has now. A harness that does not answer the bridge leaves them all
    /// in the list: it is asked again at each call.
    pub(super) async fn offered(&self) -> Vec<tools::Tool> {
        match self {
            Self::Here(context) => tools::offered(context),
            Self::Harness(remote) => {
                let mut all = tools::tools();
                if let Some(names) = remote.offered().await {
                    all.retain(|tool| names.iter().any(|name| name == tool.name));
                }
                all
            }
        }
    }

    /// Runs a tool; the error is the text for the model.
    pub(super) async fn call(
        self,
        name: String,
        key: CallKey,
        arguments: Value,
    ) -> Result<Value, String> {
        match self {
            Self::Here(context) => tools::call(&name, *context, key, arguments)
                .await
                .map_err(|error| error.to_string()),
            Self::Harness(remote) => remote.call(&name, key, arguments).await,
        }
    }
}

// === impl Handler ===

impl Handler {
    pub(super) fn new(place: Place) -> Self {
        Self { place }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hive", hive_proto::VERSION))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let tools = self.place.offered().await.into_iter();
        let tools = tools.map(|tool| Tool::new(tool.name, tool.doc, Arc::new((tool.schema)())));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let key = match context.meta.get(TOOL_USE_ID).and_then(Value::as_str) {
            Some(id) => CallKey::ToolUse(id.to_owned()),
            None => CallKey::Unknown,
        };
        let name = request.name.to_string();
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let mut body = JoinSet::new();
        body.spawn(self.place.clone().call(name.clone(), key, arguments));
        let result = attend(&name, &mut body, &context).await;
        Ok(render(result).into())
    }
}

/// Waits for the body, with signs of life; aborts it when the client has gone.
async fn attend(
    name: &str,
    body: &mut JoinSet<Result<Value, String>>,
    context: &RequestContext<RoleServer>,
) -> Result<Value, String> {
    let first = tokio::time::Instant::now() + FIRST_PROGRESS;
    let mut ticks = interval_at(first, PROGRESS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut progress = 0.0;
    loop {
        tokio::select! {
            done = body.join_next() => return outcome(name, done),
            () = context.ct.cancelled() => return Err("cancelled".to_owned()),
            _ = ticks.tick() => {
                progress += 1.0;
                if let Some(token) = context.meta.get_progress_token() {
                    let sign = ProgressNotificationParam::new(token, progress);
                    // A client that has gone shows as a cancelled call.
                    _ = context.peer.notify_progress(sign).await;
                }
            }
        }
    }
}

/// What a body's task ended with; a panic is an answer like any other.
fn outcome(
    name: &str,
    done: Option<Result<Result<Value, String>, JoinError>>,
) -> Result<Value, String> {
    match done {
        Some(Ok(result)) => result,
        Some(Err(error)) => {
            tracing::error!(tool.name = name, %error, "a tool broke");
            Err(format!(
                "internal: the tool {name} broke; the harness goes on"
            ))
        }
        None => Err("internal: the tool did not run".to_owned()),
    }
}

fn render(result: Result<Value, String>) -> CallToolResult {
    match result {
        Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::task::JoinSet;

    use super::{outcome, render};

    #[tokio::test]
    async fn a_panic_is_an_error_for_the_model() {
        let mut body: JoinSet<Result<Value, String>> = JoinSet::new();
        body.spawn(async { panic!("a fault of the tool") });
        let result = outcome("send", body.join_next().await);
        assert_eq!(
            result,
            Err("internal: the tool send broke; the harness goes on".to_owned())
        );
        assert_eq!(render(result).is_error, Some(true));
        body.spawn(async { Ok(json!(1)) });
        assert_eq!(outcome("send", body.join_next().await), Ok(json!(1)));
    }
}
