//! Approvals and schedules among the loose ends: seen and given up by whom they belong to.

use hive_proto::ids::{AgentId, ApprovalId, ScheduleId};
use hive_proto::v1::Role;
use hived::approvals::{ApprovalError, By, Decision};
use hived::loose_ends::{Kind, LooseEnd, LooseEndError};
use hived::model::approval;
use hived::model::schedule;
use hived::schedules::{Actor, Draft, ScheduleError};
use hived::store::Recipient;

use crate::kit::{Core, START, run};
use crate::schedules::every;

/// `boss` above `lead` above `cook`, and `out`, a manager of another tree.
struct Crew {
    core: Core,
    boss: AgentId,
    lead: AgentId,
    cook: AgentId,
    out: AgentId,
}

impl Crew {
    async fn new() -> Self {
        let core = Core::new();
        let boss = core.agent_under("boss", Role::Manager, None).await;
        let lead = core.agent_under("lead", Role::Manager, Some(boss)).await;
        let cook = core.agent_under("cook", Role::Agent, Some(lead)).await;
        let out = core.agent_under("out", Role::Manager, None).await;
        Self {
            core,
            boss,
            lead,
            cook,
            out,
        }
    }

    /// A request of `lead`'s.
    async fn asked(&self) -> ApprovalId {
        let draft = Draft {
            description: "news".into(),
            ..every(3_600, &["cook"])
        };
        let asked = self.core.schedules.request(self.lead, draft).await;
        asked.unwrap().id
    }

    async fn approve(&self, id: ApprovalId) {
        let by = By {
            who: "uid 1000".into(),
            digest: String::new(),
            note: String::new(),
        };
        let decided = self.core.approvals.decide(id, Decision::Approve, by).await;
        decided.unwrap();
        run(&self.core.intents).await;
    }

    /// A schedule of `lead`'s, which is the only one.
    async fn scheduled(&self) -> ScheduleId {
        self.approve(self.asked().await).await;
        ScheduleId(1)
    }

    async fn list(&self, agent: AgentId, of: &str) -> Result<Vec<LooseEnd>, LooseEndError> {
        self.core.loose_ends.list(agent, of.to_owned()).await
    }

    async fn give_up(&self, agent: AgentId, kind: Kind, id: i64) -> Result<(), LooseEndError> {
        self.core.loose_ends.cancel(agent, kind, id).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_open_until_it_is_decided_and_then_its_schedule_is() {
    let crew = Crew::new().await;
    let id = crew.asked().await;
    let request = LooseEnd {
        kind: Kind::Approval,
        id: id.0,
        agent: "lead".into(),
        waits_for: "operator".into(),
        state: "pending",
        text: "schedule_prompt: news".into(),
        since: START,
        due: Some(START.plus_ms(7 * 86_400_000)),
    };
    assert_eq!(crew.list(crew.lead, "").await.unwrap(), [request]);
    crew.approve(id).await;
    let schedule = LooseEnd {
        kind: Kind::Schedule,
        id: 1,
        agent: "lead".into(),
        waits_for: String::new(),
        state: "active",
        text: "look".into(),
        since: START,
        due: Some(START),
    };
    assert_eq!(crew.list(crew.lead, "").await.unwrap(), [schedule]);
    crew.give_up(crew.lead, Kind::Schedule, 1).await.unwrap();
    assert_eq!(crew.list(crew.lead, "").await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_listed_for_their_owner_and_the_managers_above() {
    let crew = Crew::new().await;
    crew.scheduled().await;
    let waiting = crew.asked().await;
    // The operator's is nobody's loose end, also not its target's.
    let of_operator = crew.core.schedules.create(every(60, &["lead"])).await;
    of_operator.unwrap();
    let expected = [(Kind::Schedule, 1), (Kind::Approval, waiting.0)];
    for (agent, of) in [
        (crew.lead, ""),
        (crew.lead, "*"),
        (crew.boss, "lead"),
        (crew.boss, "*"),
    ] {
        let ends = crew.list(agent, of).await.unwrap();
        let ends: Vec<_> = ends.iter().map(|end| (end.kind, end.id)).collect();
        assert_eq!(ends, expected, "{of:?}");
    }
    for (agent, of) in [(crew.cook, ""), (crew.boss, ""), (crew.out, "*")] {
        assert_eq!(crew.list(agent, of).await.unwrap(), [], "{of:?}");
    }
    let refused = crew.list(crew.out, "lead").await;
    assert!(matches!(refused, Err(LooseEndError::NotBelow(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_taken_back_by_its_requester_and_the_managers_above() {
    let crew = Crew::new().await;
    for (by, name) in [(crew.lead, "lead"), (crew.boss, "boss")] {
        let id = crew.asked().await;
        for stranger in [crew.cook, crew.out] {
            let refused = crew.give_up(stranger, Kind::Approval, id.0).await;
            assert!(
                matches!(
                    refused,
                    Err(LooseEndError::Approval(ApprovalError::NotYours { .. }))
                ),
                "{refused:?}"
            );
        }
        crew.give_up(by, Kind::Approval, id.0).await.unwrap();
        crew.give_up(by, Kind::Approval, id.0).await.unwrap();
        let row = crew.core.approvals.get(id).await.unwrap();
        let expected = (approval::State::Cancelled, format!("taken back by {name}"));
        assert_eq!((row.state, row.result), expected);
    }
    // Once each, however often it was said.
    let kinds = crew.core.kinds().await;
    let cancelled = kinds.iter().filter(|kind| *kind == "approval.cancelled");
    assert_eq!(cancelled.count(), 2);
    let told = crew.core.mail(Recipient::Agent(crew.lead)).await;
    assert_eq!(told.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_is_not_taken_back() {
    let crew = Crew::new().await;
    let id = crew.asked().await;
    crew.approve(id).await;
    let late = crew.give_up(crew.lead, Kind::Approval, id.0).await;
    let late = late.unwrap_err().to_string();
    assert!(late.contains("already approved by uid 1000"), "{late}");
    let none = crew.give_up(crew.lead, Kind::Approval, 77).await;
    assert!(matches!(
        none,
        Err(LooseEndError::Approval(ApprovalError::Unknown(_)))
    ));
    assert_eq!(
        crew.core.approvals.get(id).await.unwrap().state,
        approval::State::Done
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_ended_by_its_owner_and_the_managers_above() {
    for by_boss in [false, true] {
        let crew = Crew::new().await;
        let id = crew.scheduled().await;
        for stranger in [crew.cook, crew.out] {
            let refused = crew.give_up(stranger, Kind::Schedule, id.0).await;
            assert!(
                matches!(
                    refused,
                    Err(LooseEndError::Schedule(ScheduleError::NotInSubtree { .. }))
                ),
                "{refused:?}"
            );
        }
        let by = match by_boss {
            true => crew.boss,
            false => crew.lead,
        };
        crew.give_up(by, Kind::Schedule, id.0).await.unwrap();
        crew.give_up(by, Kind::Schedule, id.0).await.unwrap();
        let view = crew.core.schedules.get(Actor::Operator, id).await.unwrap();
        assert_eq!(view.row.state, schedule::State::Cancelled);
        let kinds = crew.core.kinds().await;
        let cancelled = kinds.iter().filter(|kind| *kind == "schedule.cancelled");
        assert_eq!(cancelled.count(), 1);
    }
    // The operator's is no agent's, whomever it writes to.
    let crew = Crew::new().await;
    let of_operator = crew.core.schedules.create(every(60, &["cook"])).await;
    let id = of_operator.unwrap().row.id;
    let refused = crew.give_up(crew.lead, Kind::Schedule, id.0).await;
    assert!(matches!(
        refused,
        Err(LooseEndError::Schedule(ScheduleError::NotInSubtree { .. }))
    ));
}
