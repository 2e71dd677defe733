//! Messages at the public edges: keys, limits, order, threading, names that nobody should accept.

use hive_proto::limits::{BATCH_SENDS, BODY_BYTES, MAILBOX_ROWS};
use hive_proto::v1::{
    CreateAgentRequest, Outcome, Reason, SendBatchRequest, SendRequest, WakeRequest, send_result,
};
use hive_tests::TestHive;
use hive_tests::client::refusal;
use hive_tests::wait::SOON;

async fn by_hand(agents: &[&str]) -> TestHive {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in agents {
        hive.create(name, "").await;
    }
    hive
}

fn send(to: &str, body: &str, key: &str) -> SendRequest {
    SendRequest {
        to: to.to_owned(),
        body: body.to_owned(),
        in_reply_to: None,
        idempotency_key: key.to_owned(),
    }
}

#[tokio::test]
async fn one_key_is_one_message() {
    let hive = by_hand(&["bee"]).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let mut operator = hive.operator();
        calls.spawn(async move { operator.send(send("bee", "once", "k")).await });
    }
    let answers: Vec<_> = calls
        .join_all()
        .await
        .into_iter()
        .map(|answer| answer.unwrap().into_inner())
        .collect();
    assert!(
        answers.iter().all(|answer| answer.id == answers[0].id),
        "{answers:?}"
    );
    assert_eq!(answers.iter().filter(|answer| !answer.duplicate).count(), 1);
    assert_eq!(hive.mailbox("bee").await.len(), 1);
    let other = hive.try_send("bee", "another body", "k").await.unwrap_err();
    assert_eq!(refusal(&other).reason, Reason::KeyConflict);
    assert_eq!(hive.mailbox("bee").await.len(), 1);
}

#[tokio::test]
async fn bodies_up_to_the_limit_and_not_beyond() {
    let mut hive = by_hand(&["bee"]).await;
    let pid = hive.daemon().pid();
    let exact = "x".repeat(BODY_BYTES);
    let id = hive.send("bee", &exact).await;
    let mut session = hive.session("bee").await;
    let got = session.recv(32, 5_000).await.unwrap();
    assert_eq!(got.messages[0].body.len(), BODY_BYTES);
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    hive.acked(id, SOON).await;
    for bytes in [BODY_BYTES + 1, 4 * BODY_BYTES + 1, 64 * BODY_BYTES] {
        let refused = hive
            .try_send("bee", &"x".repeat(bytes), "")
            .await
            .unwrap_err();
        let reason = refusal(&refused).reason;
        assert_eq!(reason, Reason::BodyTooLarge, "{bytes} bytes: {refused:?}");
    }
    assert_eq!(hive.mailbox("bee").await.len(), 1);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 150_000, "{peak} KiB: the large bodies were taken in");
}

#[tokio::test]
async fn a_full_mailbox_says_so_and_recovers() {
    let hive = by_hand(&["bee"]).await;
    let mut sent = 0;
    let mut refused = 0;
    while refused == 0 {
        let sends = (0..BATCH_SENDS)
            .map(|n| send("bee", &format!("{}", sent + n), ""))
            .collect();
        let answer = hive
            .operator()
            .send_batch(SendBatchRequest { sends })
            .await
            .unwrap();
        for result in answer.into_inner().results {
            match result.result.unwrap() {
                send_result::Result::Ok(_) => sent += 1,
                send_result::Result::Error(error) => {
                    assert_eq!(error.reason(), Reason::MailboxFull);
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(sent, MAILBOX_ROWS as usize);
    let mut session = hive.session("bee").await;
    let got = session.recv(32, 5_000).await.unwrap();
    let bodies: Vec<&str> = got
        .messages
        .iter()
        .map(|message| message.body.as_str())
        .collect();
    let expected: Vec<String> = (0..32).map(|n| n.to_string()).collect();
    assert_eq!(bodies, expected);
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    hive.send("bee", "there is room again").await;
}

#[tokio::test]
async fn an_answer_names_its_question() {
    let hive = by_hand(&["bee"]).await;
    let id = hive.send("bee", "question").await;
    let mut session = hive.session("bee").await;
    let got = session.recv(1, 5_000).await.unwrap();
    session.send("operator", "answer", "step-1").await.unwrap();
    // The same step again, as after a lost reply: still one answer.
    assert!(
        session
            .send("operator", "answer", "step-1")
            .await
            .unwrap()
            .duplicate
    );
    session.end(got.turn_id, Outcome::Ok).await.unwrap();
    let life = hive.acked(id, SOON).await;
    let replies: Vec<&str> = life
        .replies
        .iter()
        .map(|reply| reply.body.as_str())
        .collect();
    assert_eq!(replies, ["answer"]);
    assert_eq!(life.replies[0].in_reply_to, Some(id));
    assert_eq!(life.replies[0].from, "bee");
}

#[tokio::test]
async fn hostile_names_are_refused_before_anything_is_made() {
    let mut hive = by_hand(&["bee"]).await;
    let long = "a".repeat(300);
    let names = [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        "-v",
        "--help",
        "A",
        "a b",
        "a\0b",
        "a\nb",
        "bee\u{202e}",
        "b\u{0435}e",
        "ｂee",
        "é",
        "a_b",
        "1a",
        &long,
    ];
    for name in names {
        let request = CreateAgentRequest {
            name: name.to_owned(),
            engine: "scripted".to_owned(),
            ..Default::default()
        };
        let refused = hive.operator().create_agent(request).await.unwrap_err();
        assert_eq!(refusal(&refused).reason, Reason::InvalidName, "{name:?}");
        let wake = WakeRequest {
            from: name.to_owned(),
            body: "x".to_owned(),
            idempotency_key: String::new(),
        };
        let refused = hive.agent("bee").wake(wake).await.unwrap_err();
        let reason = refusal(&refused).reason;
        assert_eq!(reason, Reason::InvalidName, "wake from {name:?}");
        if !name.contains('\0') {
            let ran = hive.hive(&["agent", "create", "--", name]).await;
            assert_eq!(ran.code, 2, "{name:?}: {ran:?}");
            assert!(
                !ran.stderr.contains('\u{202e}'),
                "an unescaped override: {:?}",
                ran.stderr
            );
        }
    }
    for name in [
        "operator",
        "system",
        "self",
        "reminder",
        "manager",
        "ttl-watchdog",
    ] {
        let request = CreateAgentRequest {
            name: name.to_owned(),
            engine: "scripted".to_owned(),
            ..Default::default()
        };
        let refused = hive.create_as(request).await.unwrap_err();
        assert_eq!(refusal(&refused).reason, Reason::ReservedName, "{name}");
        let wake = WakeRequest {
            from: name.to_owned(),
            body: "x".to_owned(),
            idempotency_key: String::new(),
        };
        let refused = hive.agent("bee").wake(wake).await.unwrap_err();
        assert_eq!(
            refusal(&refused).reason,
            Reason::ReservedName,
            "wake from {name}"
        );
    }
    let below = |folder: std::path::PathBuf| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert_eq!(below(hive.run_dir().join("agents")), ["bee"]);
    assert_eq!(below(hive.home().join("agents")), ["bee"]);
    assert_eq!(hive.mailbox("bee").await.len(), 0);
}

#[tokio::test]
async fn messages_to_nobody_are_refused() {
    let hive = by_hand(&["bee"]).await;
    let refused = hive.try_send("wasp", "x", "").await.unwrap_err();
    assert_eq!(refusal(&refused).reason, Reason::UnknownAgent);
    hive.hive(&["send", "wasp", "x"]).await.expect_code(3);
    hive.hive(&["message", "show", "4711"]).await.expect_code(3);
    hive.hive(&["send", "bee"]).await.expect_code(2);
}
