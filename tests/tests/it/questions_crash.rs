//! The broker is killed while questions are asked, answered and expire and reminders fire: each effect
//! is there once, and nothing is stuck.
//!
//! In CI the first kill points run; `HIVE_CRASH=all` (`make crash`) takes every one, at writes too.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hive_proto::v1::{
    AnswerQuestionRequest, AskRequest, ListQuestionsRequest, ListRemindersRequest, Question,
    QuestionState, Reason, RemindRequest, ReminderState,
};
use hive_tests::TestHive;
use hive_tests::client::{Agent, Operator, Status, refusal};
use hive_tests::strace::{Attached, Fault, When};
use hive_tests::wait::{SOON, pass, until};

/// How a commit reaches the disk, whichever of the two SQLite was built with.
const SYNC: &str = "fsync,fdatasync";
/// How a commit is written before that.
const WRITE: &str = "pwrite64,ftruncate";

/// What one round did; asking again under the same keys finds the same.
#[derive(Clone, Copy, Debug)]
struct Round {
    answered: i64,
    expired: i64,
    reminder: i64,
}

fn question(n: u32, what: &str, ttl_secs: u64) -> AskRequest {
    AskRequest {
        question: format!("{what} {n}"),
        options: vec!["yes".to_owned(), "no".to_owned()],
        ttl_secs,
        idempotency_key: format!("{what}-{n}"),
        ..Default::default()
    }
}

/// Calls until there is an answer: a tool does the same while the broker is away.
async fn persist<T, F: Future<Output = Result<T, Status>>>(
    what: &str,
    mut call: impl FnMut() -> F,
) -> Result<T, Status> {
    let start = Instant::now();
    loop {
        match call().await {
            Err(status) if status.details().is_empty() => assert!(
                start.elapsed() < SOON * 2,
                "{what} was never answered: {status}"
            ),
            Err(status) if refusal(&status).reason == Reason::Unavailable => {}
            answer => return answer,
        }
        pass(Duration::from_millis(20)).await;
    }
}

/// One of each: asked and answered, asked and left to its deadline, set and due.
async fn round(bee: Agent, operator: Operator, n: u32) -> Round {
    let ask = |request: AskRequest| {
        let bee = bee.clone();
        async move {
            let asked = persist("ask", || {
                let (mut bee, request) = (bee.clone(), request.clone());
                async move { bee.ask(request).await }
            });
            asked.await.unwrap().into_inner().id
        }
    };
    let expired = ask(question(n, "expires", 1)).await;
    let remind = RemindRequest {
        message: format!("remember {n}"),
        due: "in 1s".to_owned(),
        idempotency_key: format!("remember-{n}"),
    };
    let set = persist("remind", || {
        let (mut bee, request) = (bee.clone(), remind.clone());
        async move { bee.remind(request).await }
    });
    let reminder = set.await.unwrap().into_inner().id;
    let answered = ask(question(n, "answered", 0)).await;
    let answer = persist("answer", || {
        let mut operator = operator.clone();
        let request = AnswerQuestionRequest {
            id: answered,
            answer: "yes".to_owned(),
        };
        async move { operator.answer_question(request).await }
    });
    match answer.await {
        Ok(_) => {}
        // The first reply was lost, not the answer.
        Err(status) => assert_eq!(refusal(&status).reason, Reason::AlreadyDecided, "{status}"),
    }
    Round {
        answered,
        expired,
        reminder,
    }
}

async fn all_questions(operator: &mut Operator) -> Result<Vec<Question>, Status> {
    let request = ListQuestionsRequest {
        all: true,
        limit: 500,
    };
    Ok(operator
        .list_questions(request)
        .await?
        .into_inner()
        .questions)
}

/// Whether time has done its part; `None` also while the broker is away.
async fn is_over(mut operator: Operator, round: Round) -> Option<()> {
    let questions = all_questions(&mut operator).await.ok()?;
    let expired = questions.iter().find(|one| one.id == round.expired)?;
    let request = ListRemindersRequest {
        all: true,
        limit: 500,
        ..Default::default()
    };
    let reminders = operator.list_reminders(request).await.ok()?.into_inner();
    let reminders = reminders.reminders;
    let reminder = reminders.iter().find(|one| one.id == round.reminder)?;
    let over = expired.state() != QuestionState::Open && reminder.state() != ReminderState::Pending;
    over.then_some(())
}

/// One round with the kill at the `nth` of `calls`; whether it came to that.
async fn killed_at(hive: &mut TestHive, calls: &str, nth: u32, n: u32) -> bool {
    // What the daemon writes by itself after its start is over.
    hive.last_seq().await;
    let tracer = Attached::at(hive.daemon().pid(), calls, Fault::Kill, When::Nth(nth)).await;
    let operator = hive.operator();
    let mut work = tokio::task::JoinSet::new();
    work.spawn(round(hive.agent("bee"), operator.clone(), n));
    let mut killed = false;
    let round = loop {
        if hive.daemon().ended().is_some() {
            killed = true;
            hive.kill().await;
            hive.start().await;
        }
        let step = Duration::from_millis(20);
        if let Ok(Some(done)) = tokio::time::timeout(step, work.join_next()).await {
            break done.unwrap();
        }
    };
    let start = Instant::now();
    while is_over(operator.clone(), round).await.is_none() {
        if hive.daemon().ended().is_some() {
            killed = true;
            hive.kill().await;
            hive.start().await;
        }
        assert!(start.elapsed() < SOON, "stuck: {calls} {nth}, {round:?}");
        pass(Duration::from_millis(20)).await;
    }
    if hive.daemon().ended().is_some() {
        killed = true;
        hive.kill().await;
        hive.start().await;
    }
    drop(tracer);
    check(hive, n, round).await;
    killed
}

/// The round's rows are right, and each of its messages is there once.
async fn check(hive: &TestHive, n: u32, round: Round) {
    let mut operator = hive.operator();
    let questions = until("the questions are listed", SOON, || {
        let mut operator = operator.clone();
        async move { all_questions(&mut operator).await.ok() }
    })
    .await;
    for (what, id, state, answer) in [
        ("answered", round.answered, QuestionState::Answered, "yes"),
        (
            "expires",
            round.expired,
            QuestionState::Expired,
            "[expired]",
        ),
    ] {
        let text = format!("{what} {n}");
        let rows: Vec<_> = questions.iter().filter(|q| q.question == text).collect();
        let [row] = rows[..] else {
            panic!("asked once, found {rows:?}");
        };
        assert_eq!(
            (row.id, row.state(), row.answer.as_str()),
            (id, state, answer)
        );
    }
    let request = ListRemindersRequest {
        all: true,
        limit: 500,
        ..Default::default()
    };
    let reminders = operator.list_reminders(request).await.unwrap().into_inner();
    let body = format!("remember {n}");
    let rows = reminders.reminders.iter().filter(|row| row.body == body);
    let states: Vec<_> = rows.map(|row| (row.id, row.state())).collect();
    assert_eq!(states, [(round.reminder, ReminderState::Fired)]);

    let mailbox = hive.mailbox("bee").await;
    let copies = |wanted: &dyn Fn(&str) -> bool| {
        let found = mailbox.iter().filter(|message| wanted(&message.body));
        found.count()
    };
    for id in [round.answered, round.expired] {
        let key = format!("\"id\":{id},");
        assert_eq!(copies(&|body| body.contains(&key)), 1, "{id}: {mailbox:?}");
    }
    assert_eq!(copies(&|message| message == body), 1, "{mailbox:?}");
}

/// Each effect has left its one event.
async fn events_once(hive: &TestHive, rounds: usize) {
    let last = hive.last_seq().await;
    let mut events = hive.watch(0).await;
    let mut seen: BTreeMap<(String, i64), usize> = BTreeMap::new();
    loop {
        let event = events.message().await.unwrap().unwrap();
        if event.kind.starts_with("question.") || event.kind.starts_with("reminder.") {
            let data: serde_json::Value = serde_json::from_str(&event.data_json).unwrap();
            let id = data["id"].as_i64().unwrap();
            *seen.entry((event.kind, id)).or_default() += 1;
        }
        if event.seq >= last {
            break;
        }
    }
    assert!(seen.values().all(|&count| count == 1), "{seen:?}");
    for (kind, each) in [
        ("question.asked", 2),
        ("question.answered", 1),
        ("question.expired", 1),
        ("reminder.set", 1),
        ("reminder.fired", 1),
    ] {
        let count = seen.keys().filter(|(of, _)| of == kind).count();
        assert_eq!(count, each * rounds, "{kind}: {seen:?}");
    }
}

#[tokio::test]
async fn crash_at_every_step_of_asking_answering_expiring_and_firing() {
    let all = std::env::var("HIVE_CRASH").is_ok_and(|word| word == "all");
    // A round is six commits.
    let mut points: Vec<(&str, u32)> = (1..=6).map(|nth| (SYNC, nth)).collect();
    if all {
        points.extend((7..=16).map(|nth| (SYNC, nth)));
        points.extend((1..=60).map(|nth| (WRITE, nth)));
    }
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    hive.broker_socket("bee").await;
    let mut killed = 0;
    for (n, (calls, nth)) in (1..).zip(&points) {
        killed += usize::from(killed_at(&mut hive, calls, *nth, n).await);
    }
    events_once(&hive, points.len()).await;
    assert!(
        killed * 2 >= points.len(),
        "only {killed} of {} points were reached",
        points.len()
    );
}
