//! What acts on a subtree acts on no other: every such call, as the authorisation table lists them, by
//! a manager elsewhere.

use std::collections::HashSet;

use hive_proto::v1::{
    AskRequest, CancelLooseEndRequest, CancelScheduleRequest, CreateAgentRequest,
    EditScheduleRequest, FireScheduleRequest, GetLooseEndsRequest, GetScheduleRequest,
    ListSchedulesRequest, ListSubtreeRequest, QuestionRef, QuestionState, Reason, Role,
};
use hive_tests::TestHive;
use hive_tests::client::{Status, refusal};
use hive_tests::wait::SOON;
use hived::rpc::authorisation::{RULES, Reach};

use crate::approvals::{crew, now_ms, request};

/// What is `lead`'s: a schedule, and a question that `ant` below it asked.
struct Theirs {
    schedule: i64,
    question: i64,
}

/// What a call by a manager elsewhere comes to.
#[derive(Debug)]
enum Met {
    Refused(Status),
    /// A list: as many as it saw of the other's.
    Saw(usize),
}

/// An answer that was given where none should be counts as seen.
fn met<T>(answer: Result<T, Status>) -> Met {
    answer.map_or_else(Met::Refused, |_| Met::Saw(1))
}

async fn theirs(hive: &mut TestHive) -> Theirs {
    crew(hive).await;
    let mut lead = hive.manager("lead");
    let asked = lead.request_schedule_prompt(request("look", now_ms() + 3_600_000, "k"));
    let approval = asked.await.unwrap().into_inner().approval_id;
    hive.hive(&["approve", &approval.to_string()])
        .await
        .expect_code(0);
    hive.broker_socket("ant").await;
    let ask = AskRequest {
        question: "where to?".to_owned(),
        ..Default::default()
    };
    let question = hive.agent("ant").ask(ask).await.unwrap().into_inner();
    let listed = lead.list_schedules(ListSchedulesRequest::default()).await;
    Theirs {
        schedule: listed.unwrap().into_inner().schedules[0].id,
        question: question.id,
    }
}

/// One call of the table on the socket of the manager `by`.
async fn call(hive: &TestHive, by: &str, method: &str, theirs: &Theirs) -> Met {
    let mut manager = hive.manager(by);
    let mut agent = hive.agent(by);
    let id = theirs.schedule;
    match method {
        "AgentService/GetLooseEnds" => {
            let of = GetLooseEndsRequest {
                agent: "ant".to_owned(),
            };
            met(agent.get_loose_ends(of).await)
        }
        "AgentService/CancelLooseEnd" => {
            let one = CancelLooseEndRequest {
                kind: "question".to_owned(),
                id: theirs.question,
            };
            met(agent.cancel_loose_end(one).await)
        }
        "ManagerService/ListAgents" => {
            let below = manager.list_agents(ListSubtreeRequest {}).await;
            Met::Saw(below.unwrap().into_inner().agents.len())
        }
        "ManagerService/RequestSchedulePrompt" => {
            let draft = request("mine", now_ms() + 3_600_000, "mine");
            met(manager.request_schedule_prompt(draft).await)
        }
        "ManagerService/EditSchedule" => {
            let edit = EditScheduleRequest {
                id,
                body: Some("mine".to_owned()),
                ..Default::default()
            };
            met(manager.edit_schedule(edit).await)
        }
        "ManagerService/CancelSchedule" => {
            let cancel = CancelScheduleRequest {
                id,
                ..Default::default()
            };
            met(manager.cancel_schedule(cancel).await)
        }
        "ManagerService/FireScheduleNow" => {
            let fire = FireScheduleRequest {
                id,
                ..Default::default()
            };
            met(manager.fire_schedule_now(fire).await)
        }
        "ManagerService/ListSchedules" => {
            let all = ListSchedulesRequest { all: true };
            let listed = manager.list_schedules(all).await;
            Met::Saw(listed.unwrap().into_inner().schedules.len())
        }
        "ManagerService/GetSchedule" => {
            let get = GetScheduleRequest {
                id,
                ..Default::default()
            };
            met(manager.get_schedule(get).await)
        }
        other => panic!("{other} acts on a subtree: say here what a manager elsewhere meets"),
    }
}

#[tokio::test]
async fn a_manager_elsewhere_reaches_nothing_of_anothers_subtree() {
    let mut hive = TestHive::builder().by_hand().start().await;
    let theirs = theirs(&mut hive).await;
    hive.create_manager("other", "").await;
    let own = CreateAgentRequest {
        name: "elsewhere".to_owned(),
        role: Role::Agent.into(),
        parent: "other".to_owned(),
        engine: "scripted".to_owned(),
        ..Default::default()
    };
    hive.create_as(own).await.unwrap();
    hive.hive(&["agent", "rights", "other", "--recipients", "elsewhere"])
        .await
        .expect_code(0);
    hive.broker_socket("other").await;
    let since = hive.last_seq().await;
    let mut refused = HashSet::new();
    let rules = RULES.iter().filter(|rule| rule.reach == Reach::Subtree);
    for name in rules.map(|rule| rule.name()) {
        match call(&hive, "other", &name, &theirs).await {
            Met::Refused(status) => {
                let expected = match name.as_str() {
                    // A question is refused to everyone but its two ends and those above them; a
                    // schedule may go to whomever its owner may write to.
                    "AgentService/CancelLooseEnd" | "ManagerService/RequestSchedulePrompt" => {
                        Reason::NotPermitted
                    }
                    _ => Reason::NotInSubtree,
                };
                assert_eq!(refusal(&status).reason, expected, "{name}: {status:?}");
                refused.insert(name);
            }
            // Its own agent, and no schedule.
            Met::Saw(seen) => {
                let own = usize::from(name == "ManagerService/ListAgents");
                assert_eq!(seen, own, "{name}");
            }
        }
    }
    assert!(refused.len() >= 7, "{refused:?}");
    audited(&hive, since, refused).await;
    unchanged(&hive, &theirs).await;
}

/// Every one of these refusals stands in the audit log, under the name of who tried.
async fn audited(hive: &TestHive, since: i64, mut missing: HashSet<String>) {
    let mut events = hive.watch(since).await;
    let read = async {
        while !missing.is_empty() {
            let event = events.message().await.unwrap().unwrap();
            if event.kind == "call.refused" {
                assert_eq!(event.agent, "other");
                let data: serde_json::Value = serde_json::from_str(&event.data_json).unwrap();
                missing.remove(data["method"].as_str().unwrap());
            }
        }
    };
    let read = tokio::time::timeout(SOON, read).await;
    assert!(read.is_ok(), "not audited: {missing:?}");
}

async fn unchanged(hive: &TestHive, theirs: &Theirs) {
    let id = theirs.schedule.to_string();
    let shown = hive.hive(&["schedule", "show", &id, "--json"]).await;
    let shown = shown.expect_code(0).json();
    let shown = shown.to_string();
    assert!(
        shown.contains("\"look\"") && shown.contains("\"active\"") && !shown.contains("mine"),
        "{shown}"
    );
    let question = QuestionRef {
        id: theirs.question,
    };
    let question = hive.operator().get_question(question).await.unwrap();
    assert_eq!(question.into_inner().state(), QuestionState::Open);
    let mail = hive.mailbox("ant").await;
    assert!(mail.is_empty(), "{mail:?}");
}
