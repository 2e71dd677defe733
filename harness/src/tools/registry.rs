//! The list of tools, and the call by name.

use std::future::Future;
use std::pin::Pin;

use hive_proto::Refusal;
use hive_proto::reason::word;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::{CallKey, ToolContext};
use super::{
    answer, ask, cancel_loose_end, cancel_schedule, edit_schedule, fire_schedule_now,
    get_agent_meta, get_loose_ends, list_schedules, recv, remind, request_next_turn,
    request_schedule_prompt, send, set_status,
};

/// Why a tool call did not do what it was asked; its text is what the model reads.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("there is no tool {0:?}")]
    Unknown(String),
    #[error("not_permitted: this agent does not have the tool {0}")]
    NotGiven(&'static str),
    #[error("the arguments do not fit: {0}")]
    Arguments(#[from] serde_json::Error),
    #[error("{}", refused(.0))]
    Refused(#[from] Refusal),
}

type Running = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;

/// One tool as it is offered.
#[derive(Clone, Copy)]
pub struct Tool {
    pub name: &'static str,
    /// What the model is told.
    pub doc: &'static str,
    /// JSON schema of the arguments.
    pub schema: fn() -> Map<String, Value>,
    run: fn(ToolContext, CallKey, Value) -> Running,
}

/// Every tool, in the order offered.
#[must_use]
pub fn tools() -> Vec<Tool> {
    vec![
        tool(send::NAME, send::DOC, schema::<send::Args>, |c, k, a| {
            run(c, k, a, send::run)
        }),
        tool(recv::NAME, recv::DOC, schema::<recv::Args>, |c, k, a| {
            run(c, k, a, recv::run)
        }),
        tool(
            get_agent_meta::NAME,
            get_agent_meta::DOC,
            schema::<get_agent_meta::Args>,
            |c, k, a| run(c, k, a, get_agent_meta::run),
        ),
        tool(
            set_status::NAME,
            set_status::DOC,
            schema::<set_status::Args>,
            |c, k, a| run(c, k, a, set_status::run),
        ),
        tool(
            request_next_turn::NAME,
            request_next_turn::DOC,
            schema::<request_next_turn::Args>,
            |c, k, a| run(c, k, a, request_next_turn::run),
        ),
        tool(ask::NAME, ask::DOC, schema::<ask::Args>, |c, k, a| {
            run(c, k, a, ask::run)
        }),
        tool(
            answer::NAME,
            answer::DOC,
            schema::<answer::Args>,
            |c, k, a| run(c, k, a, answer::run),
        ),
        tool(
            get_loose_ends::NAME,
            get_loose_ends::DOC,
            schema::<get_loose_ends::Args>,
            |c, k, a| run(c, k, a, get_loose_ends::run),
        ),
        tool(
            cancel_loose_end::NAME,
            cancel_loose_end::DOC,
            schema::<cancel_loose_end::Args>,
            |c, k, a| run(c, k, a, cancel_loose_end::run),
        ),
        tool(
            remind::NAME,
            remind::DOC,
            schema::<remind::Args>,
            |c, k, a| run(c, k, a, remind::run),
        ),
        tool(
            request_schedule_prompt::NAME,
            request_schedule_prompt::DOC,
            schema::<request_schedule_prompt::Args>,
            |c, k, a| run(c, k, a, request_schedule_prompt::run),
        ),
        tool(
            edit_schedule::NAME,
            edit_schedule::DOC,
            schema::<edit_schedule::Args>,
            |c, k, a| run(c, k, a, edit_schedule::run),
        ),
        tool(
            cancel_schedule::NAME,
            cancel_schedule::DOC,
            schema::<cancel_schedule::Args>,
            |c, k, a| run(c, k, a, cancel_schedule::run),
        ),
        tool(
            fire_schedule_now::NAME,
            fire_schedule_now::DOC,
            schema::<fire_schedule_now::Args>,
            |c, k, a| run(c, k, a, fire_schedule_now::run),
        ),
        tool(
            list_schedules::NAME,
            list_schedules::DOC,
            schema::<list_schedules::Args>,
            |c, k, a| run(c, k, a, list_schedules::run),
        ),
    ]
}

/// Those that this agent has now.
#[must_use]
pub fn offered(context: &ToolContext) -> Vec<Tool> {
    let mut tools = tools();
    tools.retain(|tool| context.has(tool.name));
    tools
}

/// The tool of that name.
#[must_use]
pub fn find(name: &str) -> Option<Tool> {
    tools().into_iter().find(|tool| tool.name == name)
}

/// Runs one tool.
///
/// # Errors
/// [`ToolError`] with the text for the caller.
pub async fn call(
    name: &str,
    context: ToolContext,
    key: CallKey,
    arguments: Value,
) -> Result<Value, ToolError> {
    let Some(tool) = find(name) else {
        return Err(ToolError::Unknown(name.chars().take(80).collect()));
    };
    if !context.has(tool.name) {
        return Err(ToolError::NotGiven(tool.name));
    }
    let result = (tool.run)(context, key, arguments).await;
    match &result {
        Ok(_) => tracing::info!(tool.name = name, "tool done"),
        Err(error) => tracing::info!(tool.name = name, tool.error = %error, "tool refused"),
    }
    result
}

fn tool(
    name: &'static str,
    doc: &'static str,
    schema: fn() -> Map<String, Value>,
    run: fn(ToolContext, CallKey, Value) -> Running,
) -> Tool {
    Tool {
        name,
        doc,
        schema,
        run,
    }
}

/// Parses the arguments, runs, renders. No arguments at all are the same as an empty object.
fn run<A, R, F>(
    context: ToolContext,
    key: CallKey,
    arguments: Value,
    body: fn(ToolContext, CallKey, A) -> F,
) -> Running
where
    A: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Future<Output = Result<R, Refusal>> + Send + 'static,
{
    Box::pin(async move {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            other => other,
        };
        let args: A = serde_json::from_value(arguments)?;
        Ok(serde_json::to_value(body(context, key, args).await?)?)
    })
}

fn schema<A: JsonSchema>() -> Map<String, Value> {
    match schemars::schema_for!(A).to_value() {
        Value::Object(map) => map,
        // A derived schema of a struct is an object.
        _ => Map::new(),
    }
}

/// Reason, sentence and hint in one line, as a model can use it.
fn refused(refusal: &Refusal) -> String {
    let reason = word(refusal.reason);
    if refusal.hint.is_empty() {
        format!("{reason}: {}", refusal.message)
    } else {
        format!("{reason}: {} (hint: {})", refusal.message, refusal.hint)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hive_proto::Refusal;
    use hive_proto::v1::Reason;

    use super::{ToolError, tools};

    #[test]
    fn every_tool_has_a_name_a_doc_and_an_object_schema() {
        let names: HashSet<_> = tools().iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), tools().len());
        for tool in tools() {
            assert!(tool.doc.len() > 40, "{}", tool.name);
            let schema = (tool.schema)();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            for (field, of) in schema
                .get("properties")
                .and_then(|p| p.as_object())
                .into_iter()
                .flatten()
            {
                assert!(of.get("description").is_some(), "{}.{field}", tool.name);
            }
        }
    }

    #[test]
    fn a_refusal_says_reason_and_hint() {
        let error = ToolError::from(Refusal::new(Reason::UnknownAgent, "there is no agent bob"));
        assert_eq!(
            error.to_string(),
            "unknown_agent: there is no agent bob (hint: `hive agent ls` lists the agents)"
        );
    }
}
