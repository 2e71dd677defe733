//! Questions: who may decide, once, and how the answer reaches its asker whatever is lost.

use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, MessageId, QuestionId, TurnId};
use hive_proto::v1::{MessageState, Outcome, QuestionState, Role};
use hived::inbox::{Novelty, Sender};
use hived::loose_ends::{self, Kind, LooseEndError};
use hived::model::outcome::Loss;
use hived::questions::{Asked, Asking, Choice, Decider, Listing, QuestionError, WaitArgs, Waited};
use hived::settle::Seen;
use hived::store::Recipient;
use hived::store::agents::{self, Removal};
use serde_json::{Value, json};

use crate::kit::{Core, ending, ids, run, secs};

const OPERATOR: Sender = Sender::Operator;

fn asking(question: &str) -> Asking {
    Asking {
        question: question.into(),
        options: Vec::new(),
        choice: Choice::One,
        ttl: None,
        to: String::new(),
        key: None,
    }
}

fn to(question: &str, to: &str) -> Asking {
    Asking {
        to: to.into(),
        ..asking(question)
    }
}

fn within(question: &str, secs: u64) -> Asking {
    Asking {
        ttl: Some(Duration::from_secs(secs)),
        ..asking(question)
    }
}

async fn ask(core: &Core, asker: AgentId, asking: Asking) -> QuestionId {
    core.questions.ask(asker, asking).await.unwrap().id
}

async fn answer(core: &Core, by: Decider, id: QuestionId, text: &str) -> Result<(), QuestionError> {
    let answered = core.questions.answer(by, id, text.into()).await;
    answered.map(|_| ())
}

/// The events in an agent's inbox, as objects.
async fn told(core: &Core, agent: AgentId) -> Vec<Value> {
    let mail = core.mail(Recipient::Agent(agent)).await;
    mail.into_iter()
        .filter(|(from, _)| from == "system")
        .map(|(_, body)| serde_json::from_str(&body).unwrap())
        .collect()
}

async fn state(core: &Core, id: QuestionId) -> (QuestionState, String, String) {
    let row = core.questions.get(id).await.unwrap();
    (row.state, row.answer, row.answerer)
}

/// A turn of `agent` on a message of the operator's.
async fn turn(core: &Core, agent: AgentId, epoch: Epoch) -> (TurnId, MessageId) {
    core.send(OPERATOR, &name(core, agent).await, "work").await;
    let received = core.take(agent, epoch, 1).await;
    (received.turn.unwrap(), ids(&received)[0])
}

async fn name(core: &Core, agent: AgentId) -> String {
    let member = core
        .store
        .read(move |conn| hived::store::roster::member(conn, agent))
        .await;
    member.unwrap().unwrap().name
}

fn waiting(epoch: Epoch, turn: TurnId, held: &[MessageId], id: QuestionId, secs: u64) -> WaitArgs {
    WaitArgs {
        epoch,
        turn,
        held: held.to_vec(),
        id,
        wait: Duration::from_secs(secs),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_answer_is_a_message_to_the_asker() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let id = ask(
        &core,
        cook,
        Asking {
            options: vec!["fish".into(), "rice".into()],
            ..asking("what?")
        },
    )
    .await;
    // A question to the operator is no mail of the operator's.
    assert!(core.mail(Recipient::Operator).await.is_empty());
    let waiting = core.questions.for_operator().await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].id, waiting[0].asker), (id, cook));
    answer(&core, Decider::Operator, id, "both, please")
        .await
        .unwrap();
    let event = json!({"event": "question_answered", "id": id, "question": "what?",
        "answer": "both, please", "answerer": "operator"});
    assert_eq!(told(&core, cook).await, [event]);
    assert!(core.questions.for_operator().await.unwrap().is_empty());
    let kinds = core.kinds().await;
    let about: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.starts_with("question"))
        .collect();
    assert_eq!(about, ["question.asked", "question.answered"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_is_asked_and_only_it_or_the_operator_answers() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    let third = core.agent("third").await;
    let id = ask(&core, cook, to("where?", "scout")).await;
    let event = json!({"event": "question_asked", "id": id, "asker": "cook", "question": "where?",
        "options": [], "multi": false});
    assert_eq!(told(&core, scout).await, [event]);
    assert!(core.questions.for_operator().await.unwrap().is_empty());
    for stranger in [third, cook] {
        let refused = answer(&core, Decider::Agent(stranger), id, "here").await;
        assert!(
            matches!(refused, Err(QuestionError::NotTarget { .. })),
            "{refused:?}"
        );
    }
    assert!(told(&core, cook).await.is_empty());
    answer(&core, Decider::Agent(scout), id, "the lake")
        .await
        .unwrap();
    let late = answer(&core, Decider::Operator, id, "the hill")
        .await
        .unwrap_err();
    let why = late.to_string();
    assert!(
        why.starts_with(&format!("question {id} is already answered by scout at 20")),
        "{why}"
    );
    let (_, text, by) = state(&core, id).await;
    assert_eq!((text.as_str(), by.as_str()), ("the lake", "scout"));
    assert_eq!(told(&core, cook).await.len(), 1);

    // The same answer again is the call whose reply was lost; another one is late.
    answer(&core, Decider::Agent(scout), id, "the lake")
        .await
        .unwrap();
    let other = answer(&core, Decider::Agent(scout), id, "the hill").await;
    assert!(
        matches!(other, Err(QuestionError::AlreadyDecided { .. })),
        "{other:?}"
    );
    assert_eq!(told(&core, cook).await.len(), 1);

    // The operator may answer in a peer's place; the peer is then too late.
    let id = ask(&core, cook, to("when?", "scout")).await;
    answer(&core, Decider::Operator, id, "now").await.unwrap();
    let late = answer(&core, Decider::Agent(scout), id, "later").await;
    assert!(
        matches!(late, Err(QuestionError::AlreadyDecided { .. })),
        "{late:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_decisions_at_once_one_counts() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    for _ in 0..20 {
        let before = told(&core, cook).await.len();
        let id = ask(&core, cook, to("which?", "scout")).await;
        let (one, two, three) = tokio::join!(
            answer(&core, Decider::Operator, id, "a"),
            answer(&core, Decider::Agent(scout), id, "b"),
            core.questions.cancel(Decider::Operator, id),
        );
        let counted = [one.is_ok(), two.is_ok(), three.is_ok()];
        assert_eq!(counted.iter().filter(|ok| **ok).count(), 1, "{counted:?}");
        assert_eq!(told(&core, cook).await.len(), before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_are_resolved_when_it_is_asked() {
    let core = Core::new();
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let cook = core.agent_under("cook", Role::Agent, Some(lead)).await;
    let ask = |asker, to_whom: &'static str| {
        let core = &core;
        async move { core.questions.ask(asker, to("?!", to_whom)).await }
    };
    let target = |asked: Result<Asked, _>| asked.map(|asked: Asked| asked.target_name);
    for (asker, to_whom, then) in [
        (cook, "", "operator"),
        (cook, "operator", "operator"),
        (cook, "<parent>", "lead"),
        (cook, "manager", "lead"),
        (lead, "<parent>", "operator"),
        (lead, "cook", "cook"),
    ] {
        assert_eq!(
            target(ask(asker, to_whom).await).unwrap(),
            then,
            "{to_whom}"
        );
    }
    let everyone = ask(cook, "*").await;
    assert!(
        matches!(everyone, Err(QuestionError::ToEveryone)),
        "{everyone:?}"
    );
    let itself = ask(cook, "cook").await;
    assert!(matches!(itself, Err(QuestionError::ToItself)), "{itself:?}");
    assert!(matches!(
        ask(cook, "nobody").await,
        Err(QuestionError::Target(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_and_nothing_is_asked() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    type Reason = fn(&QuestionError) -> bool;
    let refused: [(Asking, Reason); 7] = [
        (asking(" \n"), |why| matches!(why, QuestionError::Empty(_))),
        (asking(&"x".repeat(65_537)), |why| {
            matches!(why, QuestionError::TooLong { .. })
        }),
        (
            Asking {
                options: many(33),
                ..asking("?")
            },
            |why| matches!(why, QuestionError::TooManyOptions { .. }),
        ),
        (
            Asking {
                options: vec!["a".into(), "a".into()],
                ..asking("?")
            },
            |why| matches!(why, QuestionError::OptionTwice(_)),
        ),
        (
            Asking {
                options: vec![String::new()],
                ..asking("?")
            },
            |why| matches!(why, QuestionError::Empty(_)),
        ),
        (
            Asking {
                options: vec!["x".repeat(1_025)],
                ..asking("?")
            },
            |why| matches!(why, QuestionError::TooLong { .. }),
        ),
        (
            Asking {
                choice: Choice::Many,
                ..asking("?")
            },
            |why| matches!(why, QuestionError::NothingToChoose),
        ),
    ];
    for (asking, expected) in refused {
        let why = core.questions.ask(cook, asking).await.unwrap_err();
        assert!(expected(&why), "{why:?}");
    }
    assert!(
        core.questions
            .list(Listing::Everything, 0)
            .await
            .unwrap()
            .is_empty()
    );
    let id = ask(&core, cook, asking("?")).await;
    let empty = answer(&core, Decider::Operator, id, " ").await;
    assert!(matches!(empty, Err(QuestionError::Empty(_))), "{empty:?}");
    let long = answer(&core, Decider::Operator, id, &"x".repeat(262_145)).await;
    assert!(
        matches!(long, Err(QuestionError::TooLong { .. })),
        "{long:?}"
    );
    // The largest answer to the largest question is one message.
    let id = ask(&core, cook, asking(&"\u{1}".repeat(65_536))).await;
    answer(&core, Decider::Operator, id, &"x".repeat(262_144))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn open_questions_are_capped_and_a_full_mailbox_takes_none() {
    let core = Core::with(hived::inbox::Limits {
        mailbox_rows: 1,
        ..hived::inbox::Limits::default()
    });
    let cook = core.agent("cook").await;
    core.agent("scout").await;
    ask(&core, cook, to("?", "scout")).await;
    let full = core.questions.ask(cook, to("?", "scout")).await;
    assert!(
        matches!(full, Err(QuestionError::MailboxFull { .. })),
        "{full:?}"
    );
    let mut first = None;
    for _ in 0..49 {
        first = Some(ask(&core, cook, asking("?")).await);
    }
    let most = core.questions.ask(cook, asking("?")).await;
    assert!(
        matches!(most, Err(QuestionError::TooManyOpen { open: 50 })),
        "{most:?}"
    );
    // An answer is delivered whatever waits there, and makes room for a question.
    core.send(OPERATOR, "cook", "fills the mailbox").await;
    answer(&core, Decider::Operator, first.unwrap(), "!")
        .await
        .unwrap();
    assert_eq!(told(&core, cook).await.len(), 1);
    ask(&core, cook, asking("?")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_ask_is_the_same_question() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    let keyed = |question: &str| Asking {
        key: Some("m1:tool".into()),
        ..to(question, "scout")
    };
    let first = core.questions.ask(cook, keyed("where?")).await.unwrap();
    assert_eq!(first.novelty, Novelty::New);
    answer(&core, Decider::Agent(scout), first.id, "here")
        .await
        .unwrap();
    // Also when the target is gone and everything is decided.
    core.store
        .write(move |tx| agents::set_removed(tx, scout, Removal::Kept))
        .await
        .unwrap();
    let again = core.questions.ask(cook, keyed("where?")).await.unwrap();
    assert_eq!((again.id, again.novelty), (first.id, Novelty::Duplicate));
    let other = core.questions.ask(cook, keyed("when?")).await;
    assert!(
        matches!(other, Err(QuestionError::KeyConflict(id)) if id == first.id),
        "{other:?}"
    );
    // Another agent's key is another key.
    let third = core.agent("third").await;
    let asked = core
        .questions
        .ask(
            third,
            Asking {
                to: String::new(),
                ..keyed("what?")
            },
        )
        .await;
    assert_eq!(asked.unwrap().novelty, Novelty::New);
    assert_eq!(told(&core, scout).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_runs_out_once_and_a_late_answer_is_too_late() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let (watched, answered) = (
        ask(&core, cook, within("watched?", 60)).await,
        ask(&core, cook, within("answered late?", 60)).await,
    );
    let asked = core
        .questions
        .ask(cook, within("capped?", 1_000_000))
        .await
        .unwrap();
    let six_hours = core.time.clock().now().plus_ms(6 * 60 * 60 * 1000);
    assert_eq!(asked.deadline_at, Some(six_hours));
    core.time.advance(secs(59));
    assert_eq!(run(&core.deadlines).await.get("expired"), 0);
    core.time.advance(secs(1));
    // Before anybody has looked.
    let late = answer(&core, Decider::Operator, answered, "yes")
        .await
        .unwrap_err();
    assert!(
        late.to_string().contains("already expired by ttl-watchdog"),
        "{late}"
    );
    assert_eq!(run(&core.deadlines).await.get("expired"), 1);
    assert_eq!(run(&core.deadlines).await.get("expired"), 0);
    for id in [watched, answered] {
        let expected = (
            QuestionState::Expired,
            "[expired]".into(),
            "ttl-watchdog".into(),
        );
        assert_eq!(state(&core, id).await, expected);
    }
    let events = told(&core, cook).await;
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event["answer"] == "[expired]"));
    // What expires while the broker is down expires when it is back.
    core.time.advance(secs(7 * 60 * 60));
    let core = core.restart();
    assert_eq!(run(&core.deadlines).await.get("expired"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawing_belongs_to_the_asker_and_those_above() {
    let core = Core::new();
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let boss = core.agent_under("boss", Role::Manager, None).await;
    let cook = core.agent_under("cook", Role::Agent, Some(lead)).await;
    let scout = core.agent_under("scout", Role::Agent, Some(lead)).await;
    let give_up = |agent, id: QuestionId| {
        let core = &core;
        async move { core.loose_ends.cancel(agent, Kind::Question, id.0).await }
    };
    let id = ask(&core, cook, to("where?", "scout")).await;
    for stranger in [scout, boss] {
        let refused = give_up(stranger, id).await;
        let permitted = matches!(
            refused,
            Err(LooseEndError::Question(QuestionError::NotAsker { .. }))
        );
        assert!(permitted, "{refused:?}");
    }
    give_up(cook, id).await.unwrap();
    let expected = (
        QuestionState::Cancelled,
        "[cancelled by cook]".into(),
        "cook".into(),
    );
    assert_eq!(state(&core, id).await, expected);
    give_up(cook, id).await.unwrap();
    // Its own doing: no turn is spent on it.
    assert!(told(&core, cook).await.is_empty());
    let late = answer(&core, Decider::Agent(scout), id, "here")
        .await
        .unwrap_err();
    assert!(
        late.to_string().contains("already cancelled by cook"),
        "{late}"
    );

    let id = ask(&core, cook, asking("where?")).await;
    give_up(lead, id).await.unwrap();
    assert_eq!(state(&core, id).await.1, "[cancelled by lead]");
    let id = ask(&core, cook, asking("where?")).await;
    core.questions.cancel(Decider::Operator, id).await.unwrap();
    assert_eq!(state(&core, id).await.1, "[cancelled]");
    let answers: Vec<_> = told(&core, cook).await;
    let answers: Vec<_> = answers.iter().map(|event| &event["answer"]).collect();
    assert_eq!(answers, ["[cancelled by lead]", "[cancelled]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn loose_ends_are_listed_for_whoever_may_see_them() {
    let core = Core::new();
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let cook = core.agent_under("cook", Role::Agent, Some(lead)).await;
    let scout = core.agent_under("scout", Role::Agent, Some(lead)).await;
    let out = core.agent("out").await;
    let asked = ask(&core, cook, to("where?", "scout")).await;
    let up = ask(&core, scout, asking("may I?")).await;
    let done = ask(&core, cook, asking("done?")).await;
    answer(&core, Decider::Operator, done, "yes").await.unwrap();
    let list = |agent, of: &str| {
        let (core, of) = (&core, of.to_owned());
        async move {
            let ends = core.loose_ends.list(agent, of).await?;
            Ok::<_, LooseEndError>(ends.into_iter().map(|end| end.id).collect::<Vec<_>>())
        }
    };
    assert_eq!(list(cook, "").await.unwrap(), [asked.0]);
    assert_eq!(list(scout, "").await.unwrap(), [asked.0, up.0]);
    assert_eq!(list(cook, "cook").await.unwrap(), [asked.0]);
    assert!(list(lead, "").await.unwrap().is_empty());
    assert_eq!(list(lead, "*").await.unwrap(), [asked.0, up.0]);
    assert_eq!(list(lead, "cook").await.unwrap(), [asked.0]);
    for of in ["scout", "*"] {
        let refused = list(cook, of).await;
        assert!(
            matches!(refused, Err(LooseEndError::NotManager)),
            "{refused:?}"
        );
    }
    assert!(matches!(
        list(lead, "out").await,
        Err(LooseEndError::NotBelow(_))
    ));
    assert!(matches!(
        list(lead, "nobody").await,
        Err(LooseEndError::UnknownAgent(_))
    ));
    assert!(list(out, "").await.unwrap().is_empty());
    assert!(matches!(
        Kind::parse("sofa"),
        Err(LooseEndError::UnknownKind(_))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_waits_for_an_agent_that_is_gone() {
    for removal in [Removal::Kept, Removal::Purged] {
        let core = Core::new();
        let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
        let of_gone = ask(&core, scout, asking("asked by the one that goes")).await;
        let to_gone = ask(&core, cook, to("asked of the one that goes", "scout")).await;
        let stays = ask(&core, cook, asking("has nothing to do with it")).await;
        core.store
            .write(move |tx| {
                agents::set_removed(tx, scout, removal)?;
                loose_ends::owner_is_gone(tx, scout, removal)
            })
            .await
            .unwrap();
        for id in [of_gone, to_gone] {
            let expected = (
                QuestionState::Cancelled,
                "[cancelled]".into(),
                "system".into(),
            );
            assert_eq!(state(&core, id).await, expected);
        }
        assert_eq!(state(&core, stays).await.0, QuestionState::Open);
        let events = told(&core, cook).await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["why"], "scout was removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_comes_into_the_turn_that_waits_for_it() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let epoch = core.open(cook, "a").await;
    let (turn, first) = turn(&core, cook, epoch).await;
    let id = ask(&core, cook, asking("fish?")).await;
    // Behind other mail: the wait is for this message alone.
    let other = core.send(OPERATOR, "cook", "also").await;
    let wait = core
        .questions
        .wait(cook, waiting(epoch, turn, &[first], id, 60));
    let (waited, _) = tokio::join!(wait, answer(&core, Decider::Operator, id, "yes"));
    let Waited { question, message } = waited.unwrap();
    let message = message.unwrap();
    assert_eq!(question.answer, "yes");
    let row = core.message(message).await;
    assert_eq!((row.state, row.turn), (MessageState::Leased, Some(turn)));

    // The reply was lost: it is handed out again; once it is held, it is not.
    let again = core
        .questions
        .wait(cook, waiting(epoch, turn, &[first], id, 0))
        .await;
    assert_eq!(again.unwrap().message, Some(message));
    let held = [first, message];
    let third = core
        .questions
        .wait(cook, waiting(epoch, turn, &held, id, 0))
        .await
        .unwrap();
    assert_eq!(
        (third.message, third.question.answer.as_str()),
        (None, "yes")
    );

    core.turns
        .end(
            cook,
            hived::turns::EndTurn {
                seen: Seen::Only(held.to_vec()),
                ..ending(epoch, turn, Outcome::Ok, Default::default())
            },
        )
        .await
        .unwrap();
    assert_eq!(core.message(message).await.state, MessageState::Acked);
    let next = core.take(cook, epoch, 10).await;
    assert_eq!(ids(&next), [other]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_saw_is_a_message_again() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let epoch = core.open(cook, "a").await;
    let (first_turn, first) = turn(&core, cook, epoch).await;
    let id = ask(&core, cook, asking("fish?")).await;
    answer(&core, Decider::Operator, id, "yes").await.unwrap();
    let args = waiting(epoch, first_turn, &[first], id, 0);
    let message = core
        .questions
        .wait(cook, args)
        .await
        .unwrap()
        .message
        .unwrap();

    // The reply never came: the turn ends without it.
    core.turns
        .end(
            cook,
            hived::turns::EndTurn {
                seen: Seen::Only(vec![first]),
                ..ending(epoch, first_turn, Outcome::Ok, Default::default())
            },
        )
        .await
        .unwrap();
    let received = core.take(cook, epoch, 10).await;
    assert_eq!(ids(&received), [message]);

    // That turn is lost with its harness: a replayed call gets the answer again, and its message.
    core.turns.release(cook, Loss::WithHarness).await.unwrap();
    let epoch = core.open(cook, "b").await;
    let received = core.take(cook, epoch, 1).await;
    assert_eq!(ids(&received), [message]);
    let again = received.turn.unwrap();
    let args = waiting(epoch, again, &[message], id, 0);
    let waited = core.questions.wait(cook, args).await.unwrap();
    assert_eq!(
        (waited.message, waited.question.answer.as_str()),
        (None, "yes")
    );
    core.end(cook, epoch, again, Outcome::Ok).await;
    assert_eq!(core.message(message).await.state, MessageState::Acked);
    assert!(core.take(cook, epoch, 10).await.rows.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_is_for_ones_own_question_in_ones_own_turn() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    let (epoch, other) = (core.open(cook, "a").await, core.open(scout, "a").await);
    let id = ask(&core, cook, asking("fish?")).await;
    let (own, held) = turn(&core, cook, epoch).await;
    let (foreign, _) = turn(&core, scout, other).await;
    let stranger = core
        .questions
        .wait(scout, waiting(other, foreign, &[], id, 0))
        .await;
    assert!(
        matches!(stranger, Err(QuestionError::NotWaiting { .. })),
        "{stranger:?}"
    );
    // Nothing to say yet.
    let open = core
        .questions
        .wait(cook, waiting(epoch, own, &[held], id, 0))
        .await
        .unwrap();
    assert_eq!(
        (open.question.state, open.message),
        (QuestionState::Open, None)
    );
    answer(&core, Decider::Operator, id, "yes").await.unwrap();
    let wrong = core
        .questions
        .wait(cook, waiting(epoch, foreign, &[], id, 0))
        .await;
    assert!(matches!(wrong, Err(QuestionError::NotOpen(_))), "{wrong:?}");
    let stale = core
        .questions
        .wait(cook, waiting(Epoch(epoch.0 + 1), own, &[], id, 0))
        .await;
    assert!(
        matches!(stale, Err(QuestionError::Stale { .. })),
        "{stale:?}"
    );
    let unknown = core
        .questions
        .wait(cook, waiting(epoch, own, &[], QuestionId(99), 0))
        .await;
    assert!(
        matches!(unknown, Err(QuestionError::NoSuchQuestion(_))),
        "{unknown:?}"
    );

    // Withdrawn from elsewhere, the wait ends although there is no message.
    let id = ask(&core, cook, asking("rice?")).await;
    let wait = core
        .questions
        .wait(cook, waiting(epoch, own, &[held], id, 60));
    let cancel = core.loose_ends.cancel(cook, Kind::Question, id.0);
    let (waited, _) = tokio::join!(wait, cancel);
    let waited = waited.unwrap();
    assert_eq!(waited.question.answer, "[cancelled by cook]");
    assert_eq!(waited.message, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_dropped_takes_nothing_and_one_ends_with_the_daemon() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let epoch = core.open(cook, "a").await;
    let (turn, first) = turn(&core, cook, epoch).await;
    for _ in 0..50 {
        let id = ask(&core, cook, asking("fish?")).await;
        {
            let wait = core
                .questions
                .wait(cook, waiting(epoch, turn, &[first], id, 60));
            tokio::select! {
                biased;
                _ = wait => panic!("nobody has answered"),
                () = tokio::task::yield_now() => {}
            }
        }
        answer(&core, Decider::Operator, id, "yes").await.unwrap();
        let message = core.questions.get(id).await.unwrap().message.unwrap();
        assert_eq!(core.message(message).await.state, MessageState::Queued);
    }
    let id = ask(&core, cook, asking("rice?")).await;
    core.tasks.stop();
    let ended = core
        .questions
        .wait(cook, waiting(epoch, turn, &[first], id, 60))
        .await;
    assert!(matches!(ended, Err(QuestionError::Stopping)), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_ones_are_always_listed() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let open = ask(&core, cook, asking("the oldest is open")).await;
    for n in 0..60 {
        let id = ask(&core, cook, asking(&n.to_string())).await;
        answer(&core, Decider::Operator, id, "done").await.unwrap();
    }
    let ids = |rows: Vec<hived::questions::QuestionRow>| {
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(core.questions.list(Listing::Open, 0).await.unwrap()),
        [open]
    );
    let all = ids(core.questions.list(Listing::Everything, 10).await.unwrap());
    assert_eq!((all.len(), all[0]), (11, open));
    assert!(all.is_sorted());
}
