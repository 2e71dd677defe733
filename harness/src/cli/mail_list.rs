//! Several messages, as every command that lists mail shows them: in full, one row each, or as JSON.

use hive_proto::v1::Message;
use hive_proto::words;

use super::output;
use super::table::{Column, Table};
use super::{CliError, escape, shapes, when};

/// One JSON list.
pub(super) fn json(messages: &[Message]) -> Result<(), CliError> {
    let list: Vec<_> = messages.iter().map(shapes::Message::from).collect();
    output::json(&list)
}

/// A head line, then the whole body, indented.
pub(super) fn in_full(message: &Message) -> String {
    let reply = match message.in_reply_to {
        Some(id) => format!("  in reply to {id}"),
        None => String::new(),
    };
    let body = escape::block(message.body.trim_end());
    format!(
        "{}  from {}  {}{reply}\n    {}\n",
        message.id,
        escape::line(&message.from),
        when::utc(message.queued_at_ms),
        body.replace('\n', "\n    ")
    )
}

/// One row a message, bodies cut.
pub(super) fn rows(messages: &[Message], now_ms: i64) -> String {
    let mut table = Table::new(&[
        Column::Number("ID"),
        Column::Whole("FROM"),
        Column::Whole("TO"),
        Column::Whole("STATE"),
        Column::Number("ATTEMPT"),
        Column::Number("AGE"),
        Column::Whole("RESULT"),
        Column::Free("BODY"),
    ]);
    for message in messages {
        let attempt = match message.attempt {
            0 => String::new(),
            attempt => attempt.to_string(),
        };
        table.row([
            message.id.to_string().into(),
            message.from.as_str().into(),
            message.to.as_str().into(),
            words::message_state(message.state()).into(),
            attempt.into(),
            when::since(message.queued_at_ms, now_ms).into(),
            message.result.as_str().into(),
            message.body.as_str().into(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{Message, MessageState};

    use super::super::shapes;
    use super::{in_full, rows};

    fn message() -> Message {
        Message {
            id: 12,
            from: "lead".to_owned(),
            to: "operator".to_owned(),
            body: "The picnic:\n- bread\u{202e}\n".to_owned(),
            in_reply_to: Some(11),
            state: MessageState::Queued.into(),
            queued_at_ms: 1_700_000_000_000,
            ..Message::default()
        }
    }

    #[test]
    fn own_messages_are_shown_in_full() {
        insta::assert_snapshot!(in_full(&message()), @r"
        12  from lead  2023-11-14 22:13:20Z  in reply to 11
            The picnic:
            - bread\u{202e}
        ");
    }

    #[test]
    fn other_mailboxes_are_listed() {
        insta::assert_snapshot!(rows(&[message()], 1_700_000_060_000), @r"
        ID  FROM  TO        STATE   AGE  BODY
        12  lead  operator  queued  60s  The picnic:\n- bread\u{202e}\n
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_string_pretty(&shapes::Message::from(&message())).unwrap();
        insta::assert_snapshot!(super::escape::json(&json), @r#"
        {
          "id": 12,
          "from": "lead",
          "to": "operator",
          "body": "The picnic:\n- bread\u202e\n",
          "in_reply_to": 11,
          "state": "queued",
          "attempt": 0,
          "redelivered": false,
          "queued_at": "2023-11-14T22:13:20.000Z",
          "leased_at": null,
          "acked_at": null,
          "not_before": null,
          "result": null,
          "turn": null
        }
        "#);
    }
}
