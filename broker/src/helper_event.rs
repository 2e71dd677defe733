//! What the hive tells an agent's engine of itself: a message from `system` whose body is one JSON
//! object with the key `event`. Notices for people are plain sentences (`settle::post_system`).

use hive_proto::ids::{AgentId, ApprovalId, MessageId, QuestionId};
use serde::Serialize;

use crate::settle;
use crate::store::{Recipient, StoreError, Tx};

/// One such object; the variant's name is the value of `event`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HelperEvent<'a> {
    /// A request of the recipient's, or of an agent below it, came to its end.
    ApprovalResolved {
        id: ApprovalId,
        kind: &'a str,
        requester: &'a str,
        state: &'a str,
        /// Empty when nobody decided.
        decided_by: &'a str,
        note: &'a str,
        /// What was made, or why not.
        result: &'a str,
    },
    /// A peer asks the recipient.
    QuestionAsked {
        id: QuestionId,
        asker: &'a str,
        question: &'a str,
        options: &'a [String],
        multi: bool,
        /// RFC 3339; none when it waits for ever.
        #[serde(skip_serializing_if = "Option::is_none")]
        deadline_at: Option<String>,
    },
    /// A question of the recipient's was decided.
    QuestionAnswered {
        id: QuestionId,
        question: &'a str,
        answer: &'a str,
        answerer: &'a str,
        /// Why the hive itself decided it.
        #[serde(skip_serializing_if = "str::is_empty")]
        why: &'a str,
    },
}

/// Queues it, whatever else waits there.
///
/// # Errors
/// When the row cannot be written.
pub fn post(
    tx: &mut Tx<'_>,
    to: AgentId,
    event: &HelperEvent<'_>,
) -> Result<MessageId, StoreError> {
    let body =
        serde_json::to_string(event).map_err(|error| StoreError::Illegal(error.to_string()))?;
    settle::post_system(tx, Recipient::Agent(to), &body)
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::QuestionId;
    use serde_json::{json, to_value};

    use super::HelperEvent;

    #[test]
    fn they_are_objects_with_an_event() {
        let asked = HelperEvent::QuestionAsked {
            id: QuestionId(7),
            asker: "cook",
            question: "fish?",
            options: &["yes".into()],
            multi: false,
            deadline_at: None,
        };
        assert_eq!(
            to_value(asked).unwrap(),
            json!({"event": "question_asked", "id": 7, "asker": "cook", "question": "fish?",
                "options": ["yes"], "multi": false})
        );
        let answered = HelperEvent::QuestionAnswered {
            id: QuestionId(7),
            question: "fish?",
            answer: "yes",
            answerer: "operator",
            why: "",
        };
        assert_eq!(
            to_value(answered).unwrap(),
            json!({"event": "question_answered", "id": 7, "question": "fish?", "answer": "yes",
                "answerer": "operator"})
        );
    }
}
