//! `answer`: decides a question that a peer asked.

use hive_proto::Refusal;
use hive_proto::v1::AnswerQuestionRequest;
use hive_proto::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{CallKey, ToolContext};

pub(super) const NAME: &str = "answer";
pub(super) const DOC: &str = "Answer a question that was put to you (a `question_asked` message with \
    its id). The first answer counts; it reaches whoever asked as a message. Options are suggestions: \
    any text will do.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// The question's id.
    id: i64,
    /// Your answer. Several options of a question that allows it are joined with ", ".
    answer: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Answered {
    id: i64,
    state: &'static str,
    asker: String,
}

pub(super) async fn run(
    context: ToolContext,
    _key: CallKey,
    args: Args,
) -> Result<Answered, Refusal> {
    let request = AnswerQuestionRequest {
        id: args.id,
        answer: args.answer,
    };
    let question = context.calls.answer(request).await?;
    Ok(Answered {
        id: question.id,
        state: words::question_state(question.state()),
        asker: question.asker,
    })
}
