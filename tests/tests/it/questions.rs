//! Questions, answers and reminders through the commands and the sockets of a whole hive.

use hive_proto::v1::{
    AnswerQuestionRequest, AskRequest, AskResponse, Message, Outcome, QuestionState, Reason,
    RemindRequest,
};
use hive_tests::client::refusal;
use hive_tests::wait::SOON;
use hive_tests::{Session, TestHive};
use serde_json::{Value, json};

/// A hive whose agents the test plays.
async fn by_hand(agents: &[&str]) -> TestHive {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in agents {
        hive.create(name, "").await;
    }
    hive
}

fn dinner(to: &str) -> AskRequest {
    AskRequest {
        question: "What do we cook?".to_owned(),
        options: ["fish", "soup", "stew"].map(str::to_owned).to_vec(),
        to: to.to_owned(),
        idempotency_key: "dinner".to_owned(),
        ..Default::default()
    }
}

async fn ask(session: &mut Session, request: AskRequest) -> AskResponse {
    session.client.ask(request).await.unwrap().into_inner()
}

/// The next message and, where it is one, the object in it; its turn is over.
async fn next(session: &mut Session) -> (Message, Value) {
    let got = session.recv(1, 10_000).await.unwrap();
    let message = got.messages.first().expect("a message").clone();
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    let object = serde_json::from_str(&message.body).unwrap_or_default();
    (message, object)
}

async fn nothing_waits(session: &mut Session) {
    let got = session.recv(1, 300).await.unwrap();
    assert_eq!(got.messages, []);
}

#[tokio::test]
async fn an_agent_asks_and_the_operator_answers_by_number() {
    let hive = by_hand(&["bee"]).await;
    let mut bee = hive.session("bee").await;
    let asked = ask(&mut bee, dinner("")).await;
    let again = ask(&mut bee, dinner("")).await;
    assert_eq!((again.id, again.duplicate), (asked.id, true));
    let id = asked.id.to_string();

    let list = hive.hive(&["question", "ls", "--json"]).await;
    let list = list.expect_code(0).json();
    let expected = json!([{
        "id": asked.id, "asker": "bee", "target": "operator", "question": "What do we cook?",
        "options": ["fish", "soup", "stew"], "multi": false, "state": "open",
        "asked_at": list[0]["asked_at"], "deadline_at": null, "answer": null, "answerer": null,
        "finished_at": null,
    }]);
    assert_eq!(list, expected);
    assert!(list[0]["asked_at"].as_str().unwrap().ends_with('Z'));

    // What waits is named with its age.
    let status = hive.hive(&["status"]).await.expect_code(0).stdout;
    let line = status.lines().find(|line| line.starts_with("question"));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[..3], ["question", "bee", &id]);
    assert!(words[3].ends_with('s'), "no age: {words:?}");
    let waiting = hive.hive(&["status", "--json"]).await.json()["waiting"].clone();
    assert_eq!(waiting[0]["since"], list[0]["asked_at"]);
    assert_eq!(waiting[0]["text"], "What do we cook?");

    // A number that is none of its options reaches nobody.
    hive.hive(&["answer", &id, "4"]).await.expect_code(2);
    hive.hive(&["answer", &id, "1,2"]).await.expect_code(2);
    let ran = hive.hive(&["answer", &id, "2"]).await.expect_code(0);
    assert_eq!(ran.stdout, format!("question {id}: answered soup\n"));
    let (message, event) = next(&mut bee).await;
    assert_eq!(message.from, "system");
    let expected = json!({"event": "question_answered", "id": asked.id,
        "question": "What do we cook?", "answer": "soup", "answerer": "operator"});
    assert_eq!(event, expected);

    // Whoever is second learns who was first, and changes nothing.
    let shown = hive.hive(&["question", "show", &id, "--json"]).await.json();
    let at = shown["finished_at"].as_str().unwrap();
    let first = format!("already answered by operator at {at}");
    for late in [["answer", &id, "fish"], ["question", "cancel", &id]] {
        let ran = hive.hive(&late).await.expect_code(4);
        assert!(ran.stderr.contains(&first), "{ran:?}");
    }
    nothing_waits(&mut bee).await;
    let open = hive.hive(&["question", "ls"]).await.expect_code(0).stdout;
    assert_eq!(open, "no open questions\n");
    let all = hive.hive(&["question", "ls", "--all", "--json"]).await;
    assert_eq!(all.json()[0]["answer"], "soup");
}

#[tokio::test]
async fn several_options_and_any_text_are_answers() {
    let hive = by_hand(&["bee"]).await;
    let mut bee = hive.session("bee").await;
    let many = AskRequest {
        multi: true,
        ..dinner("operator")
    };
    let many = ask(&mut bee, many).await.id.to_string();
    hive.hive(&["answer", &many, "3,1"]).await.expect_code(0);
    assert_eq!(next(&mut bee).await.1["answer"], "stew, fish");

    let free = AskRequest {
        question: "\u{1b}[2Jhow many?".to_owned(),
        idempotency_key: String::new(),
        ..AskRequest::default()
    };
    let free = ask(&mut bee, free).await.id.to_string();
    for command in [["question", "ls"].as_slice(), &["question", "show", &free]] {
        let shown = hive.hive(command).await.expect_code(0).stdout;
        assert!(shown.contains("\\u{1b}[2Jhow many?"), "{shown}");
    }
    hive.hive_with(&["answer", &free, "-"], Some("7\nor eight\n"))
        .await
        .expect_code(0);
    assert_eq!(next(&mut bee).await.1["answer"], "7\nor eight");

    let third = AskRequest {
        idempotency_key: "third".to_owned(),
        ..dinner("operator")
    };
    let third = ask(&mut bee, third).await.id.to_string();
    hive.hive(&["question", "cancel", &third])
        .await
        .expect_code(0);
    let (_, event) = next(&mut bee).await;
    assert_eq!(
        (&event["answer"], &event["answerer"]),
        (&json!("[cancelled]"), &json!("operator"))
    );
}

#[tokio::test]
async fn a_peers_question_is_answered_by_the_peer_and_by_no_third() {
    let hive = by_hand(&["bee", "ant", "wasp"]).await;
    let mut bee = hive.session("bee").await;
    let mut ant = hive.session("ant").await;
    let mut wasp = hive.session("wasp").await;
    let asked = ask(&mut bee, dinner("ant")).await;
    assert_eq!(asked.target, "ant");
    let (message, event) = next(&mut ant).await;
    assert_eq!(message.from, "system");
    let expected = json!({"event": "question_asked", "id": asked.id, "asker": "bee",
        "question": "What do we cook?", "options": ["fish", "soup", "stew"], "multi": false});
    assert_eq!(event, expected);
    // It is nothing that waits for the operator.
    let waiting = hive.hive(&["status", "--json"]).await.json()["waiting"].clone();
    assert_eq!(waiting, json!([]));

    // Neither a third agent nor the asker itself answers it, whatever they say they are.
    let since = hive.last_seq().await;
    let answer = |text: &str| AnswerQuestionRequest {
        id: asked.id,
        answer: text.to_owned(),
    };
    for session in [&mut wasp, &mut bee] {
        let refused = session.client.answer_question(answer("fish")).await;
        let refused = refusal(&refused.unwrap_err());
        assert_eq!(refused.reason, Reason::NotPermitted);
        assert!(refused.message.contains("put to ant"), "{refused:?}");
    }
    let event = hive
        .event(since, "the refusal is audited", SOON, |event| {
            event.kind == "call.refused" && event.agent == "wasp"
        })
        .await;
    let data: Value = serde_json::from_str(&event.data_json).unwrap();
    assert_eq!(data["method"], "AgentService/AnswerQuestion");
    assert_eq!(data["reason"], "not_permitted");
    let id = asked.id.to_string();
    let shown = hive.hive(&["question", "show", &id, "--json"]).await.json();
    assert_eq!(
        (&shown["state"], &shown["answer"]),
        (&json!("open"), &json!(null))
    );
    nothing_waits(&mut bee).await;

    let answered = ant.client.answer_question(answer("stew")).await.unwrap();
    assert_eq!(answered.into_inner().state(), QuestionState::Answered);
    let (_, event) = next(&mut bee).await;
    assert_eq!(
        (&event["answer"], &event["answerer"]),
        (&json!("stew"), &json!("ant"))
    );
    let late = hive.hive(&["answer", &id, "1"]).await.expect_code(4);
    assert!(
        late.stderr.contains("already answered by ant at 2"),
        "{late:?}"
    );
}

#[tokio::test]
async fn the_operator_answers_in_a_peers_place_and_time_decides_the_rest() {
    let hive = by_hand(&["bee", "ant"]).await;
    let mut bee = hive.session("bee").await;
    let id = ask(&mut bee, dinner("ant")).await.id.to_string();
    hive.hive(&["answer", &id, "1"]).await.expect_code(0);
    let (_, event) = next(&mut bee).await;
    assert_eq!(
        (&event["answer"], &event["answerer"]),
        (&json!("fish"), &json!("operator"))
    );

    let short = AskRequest {
        ttl_secs: 1,
        idempotency_key: "short".to_owned(),
        ..dinner("operator")
    };
    let id = ask(&mut bee, short).await.id.to_string();
    let (_, event) = next(&mut bee).await;
    assert_eq!(
        (&event["answer"], &event["answerer"]),
        (&json!("[expired]"), &json!("ttl-watchdog"))
    );
    let late = hive.hive(&["answer", &id, "1"]).await.expect_code(4);
    assert!(
        late.stderr.contains("already expired by ttl-watchdog at 2"),
        "{late:?}"
    );
}

#[tokio::test]
async fn reminders_are_listed_cancelled_and_fire() {
    let hive = by_hand(&["bee"]).await;
    let mut bee = hive.session("bee").await;
    let remind = |message: &str, due: &str| RemindRequest {
        message: message.to_owned(),
        due: due.to_owned(),
        idempotency_key: message.to_owned(),
    };
    let later = bee.client.remind(remind("later", "in 1h")).await.unwrap();
    let later = later.into_inner().id;
    let list = hive.hive(&["reminder", "ls", "bee", "--json"]).await;
    let list = list.expect_code(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    for (key, value) in [
        ("id", json!(later)),
        ("agent", json!("bee")),
        ("body", json!("later")),
        ("attempts", json!(0)),
        ("state", json!("pending")),
    ] {
        assert_eq!(list[0][key], value, "{key}");
    }
    bee.client.remind(remind("soon", "in 1s")).await.unwrap();
    let (message, _) = next(&mut bee).await;
    assert_eq!(
        (message.from.as_str(), message.body.as_str()),
        ("reminder", "soon")
    );

    let id = later.to_string();
    // Only what failed is tried again.
    hive.hive(&["reminder", "retry", &id]).await.expect_code(4);
    hive.hive(&["reminder", "rm", &id]).await.expect_code(0);
    let none = hive.hive(&["reminder", "ls"]).await.expect_code(0).stdout;
    assert_eq!(none, "no reminders\n");
    let all = hive
        .hive(&["reminder", "ls", "--all", "--json"])
        .await
        .json();
    assert_eq!(
        (&all[0]["state"], &all[1]["state"]),
        (&json!("cancelled"), &json!("fired"))
    );
    assert_eq!(all[1]["message"], message.id);
}
