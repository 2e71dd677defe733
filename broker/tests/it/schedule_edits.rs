//! Edits: the operator's at once, an agent's by approval where they go beyond what was approved.

use hive_proto::ids::{AgentId, ScheduleId};
use hive_proto::v1::Role;
use hived::approvals::{By, Decision};
use hived::model::approval::State as ApprovalState;
use hived::model::schedule::{State, Timing};
use hived::schedules::{Actor, Change, Edited, Membership, ScheduleError};
use hived::store::Recipient;

use crate::kit::{Core, START, run, secs};
use crate::schedules::{every, schedule, slots};

struct Crew {
    lead: AgentId,
    ant: AgentId,
    id: ScheduleId,
}

fn yes() -> By {
    By {
        who: "uid 0".into(),
        digest: String::new(),
        note: String::new(),
    }
}

/// A manager with an approved schedule to `ant`; `bee` is below it, too.
async fn crew(core: &Core) -> Crew {
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let ant = core.agent_under("ant", Role::Agent, Some(lead)).await;
    core.agent_under("bee", Role::Agent, Some(lead)).await;
    let asked = core
        .schedules
        .request(lead, every(60, &["ant"]))
        .await
        .unwrap();
    core.approvals
        .decide(asked.id, Decision::Approve, yes())
        .await
        .unwrap();
    run(&core.intents).await;
    Crew {
        lead,
        ant,
        id: ScheduleId(1),
    }
}

fn body(text: &str) -> Change {
    Change {
        body: Some(text.to_owned()),
        ..Change::default()
    }
}

async fn bodies(core: &Core, of: AgentId) -> Vec<String> {
    let mail = core.mail(Recipient::Agent(of)).await;
    mail.into_iter().map(|(_, body)| body).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_version_runs_until_the_change_is_approved() {
    let core = Core::new();
    let crew = crew(&core).await;
    let actor = Actor::Agent(crew.lead);
    let (edited, view) = core
        .schedules
        .edit(actor, crew.id, body("new"))
        .await
        .unwrap();
    let Edited::Waits(asked) = edited else {
        panic!("{edited:?}");
    };
    assert_eq!(view.row.definition.body, "look");
    assert_eq!(view.pending, Some(asked.id));
    run(&core.firing).await;
    core.approvals
        .decide(asked.id, Decision::Approve, yes())
        .await
        .unwrap();
    run(&core.intents).await;
    core.time.advance(secs(60));
    run(&core.firing).await;
    assert_eq!(bodies(&core, crew.ant).await, ["look", "new"]);
    let view = core.schedules.get(Actor::Operator, crew.id).await.unwrap();
    assert_eq!((view.row.approval, view.pending), (Some(asked.id), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_narrows_or_shifts_needs_no_approval_and_what_widens_does() {
    let core = Core::new();
    let crew = crew(&core).await;
    let actor = Actor::Agent(crew.lead);
    let change = Change::default;
    let later = START.plus_ms(30 * 60_000);
    let free = [
        Change {
            description: Some("why".into()),
            ..change()
        },
        Change {
            next: Some(later),
            ..change()
        },
    ];
    for change in free {
        let (edited, _) = core
            .schedules
            .edit(actor, crew.id, change.clone())
            .await
            .unwrap();
        assert_eq!(edited, Edited::Made, "{change:?}");
    }
    let view = core.schedules.get(actor, crew.id).await.unwrap();
    assert_eq!(view.row.next, Some(later));
    let bound = [
        body("other"),
        Change {
            add: vec!["bee".into()],
            ..change()
        },
        Change {
            interval_secs: Some(120),
            ..change()
        },
        Change {
            cron: Some("* * * * *".into()),
            ..change()
        },
        Change {
            misfire: Some(hived::model::schedule::Misfire::Skip),
            ..change()
        },
    ];
    for change in bound {
        let (edited, _) = core
            .schedules
            .edit(actor, crew.id, change.clone())
            .await
            .unwrap();
        assert!(matches!(edited, Edited::Waits(_)), "{change:?}");
    }
    // One change waits at a time: the newest.
    let waiting = core.approvals.pending_of(crew.lead).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let (edited, view) = core
        .schedules
        .edit(
            actor,
            crew.id,
            Change {
                interval_secs: Some(0),
                ..change()
            },
        )
        .await
        .unwrap();
    assert_eq!(edited, Edited::Made);
    assert_eq!(view.row.definition.timing, Timing::Once { at: later });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_a_version_that_is_gone_changes_nothing() {
    let core = Core::new();
    let crew = crew(&core).await;
    let actor = Actor::Agent(crew.lead);
    let (edited, _) = core
        .schedules
        .edit(actor, crew.id, body("new"))
        .await
        .unwrap();
    let Edited::Waits(asked) = edited else {
        panic!("{edited:?}");
    };
    core.approvals
        .decide(asked.id, Decision::Approve, yes())
        .await
        .unwrap();
    // Between the decision and its effect.
    core.schedules
        .edit(Actor::Operator, crew.id, body("mine"))
        .await
        .unwrap();
    run(&core.intents).await;
    let row = core.approvals.get(asked.id).await.unwrap();
    assert_eq!(row.state, ApprovalState::Failed);
    assert_eq!(row.result, "schedule 1 was changed meanwhile");
    let view = core.schedules.get(Actor::Operator, crew.id).await.unwrap();
    assert_eq!(view.row.definition.body, "mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_ends_with_its_schedule() {
    let core = Core::new();
    let crew = crew(&core).await;
    let actor = Actor::Agent(crew.lead);
    core.schedules
        .edit(actor, crew.id, body("new"))
        .await
        .unwrap();
    core.schedules
        .cancel(actor, crew.id, Vec::new())
        .await
        .unwrap();
    assert!(
        core.approvals
            .pending_of(crew.lead)
            .await
            .unwrap()
            .is_empty()
    );
    let refused = core
        .schedules
        .edit(Actor::Operator, crew.id, body("x"))
        .await;
    assert!(matches!(refused, Err(ScheduleError::NotActive { .. })));
    core.time.advance(secs(60));
    assert_eq!(run(&core.firing).await.get("fired"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_taken_out_has_one_last_row_and_comes_back_afresh() {
    let core = Core::new();
    core.agent("ant").await;
    let bee = core.agent("bee").await;
    let id = schedule(&core, every(60, &["ant", "bee"])).await;
    run(&core.firing).await;
    core.schedules
        .cancel(Actor::Operator, id, vec!["bee".into()])
        .await
        .unwrap();
    for _ in 0..2 {
        core.time.advance(secs(60));
        run(&core.firing).await;
    }
    let change = Change {
        add: vec!["bee".into()],
        ..Change::default()
    };
    let (_, view) = core
        .schedules
        .edit(Actor::Operator, id, change)
        .await
        .unwrap();
    let back = view.targets.iter().find(|target| target.id == bee).unwrap();
    assert_eq!(back.membership, Membership::Active);
    assert_eq!((back.last_fired_at, back.last_result.as_str()), (None, ""));
    core.time.advance(secs(60));
    run(&core.firing).await;
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z fired",
            "bee 2026-12-01T00:00Z fired",
            "ant 2026-12-01T00:01Z fired",
            "bee 2026-12-01T00:01Z skipped: target removed",
            "ant 2026-12-01T00:02Z fired",
            "ant 2026-12-01T00:03Z fired",
            "bee 2026-12-01T00:03Z fired",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_target_taken_out_ends_it() {
    let core = Core::new();
    core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    let view = core
        .schedules
        .cancel(Actor::Operator, id, vec!["ant".into()])
        .await
        .unwrap();
    assert_eq!(view.row.state, State::Cancelled);
    // Again is the same as once.
    core.schedules
        .cancel(Actor::Operator, id, Vec::new())
        .await
        .unwrap();
    let other = schedule(&core, every(60, &["ant"])).await;
    let change = Change {
        remove: vec!["ant".into()],
        ..Change::default()
    };
    let (_, view) = core
        .schedules
        .edit(Actor::Operator, other, change)
        .await
        .unwrap();
    assert_eq!(view.row.state, State::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_owner_and_managers_above_touch_it() {
    let core = Core::new();
    let top = core.agent_under("top", Role::Manager, None).await;
    let lead = core.agent_under("lead", Role::Manager, Some(top)).await;
    let ant = core.agent_under("ant", Role::Agent, Some(lead)).await;
    let stranger = core.agent_under("other", Role::Manager, None).await;
    let asked = core
        .schedules
        .request(lead, every(60, &["ant"]))
        .await
        .unwrap();
    core.approvals
        .decide(asked.id, Decision::Approve, yes())
        .await
        .unwrap();
    run(&core.intents).await;
    let mine = schedule(&core, every(60, &["ant"])).await;
    let id = ScheduleId(1);
    for who in [lead, top] {
        assert!(core.schedules.get(Actor::Agent(who), id).await.is_ok());
    }
    for who in [ant, stranger] {
        let actor = Actor::Agent(who);
        assert!(core.schedules.get(actor, id).await.is_err());
        assert!(core.schedules.edit(actor, id, body("x")).await.is_err());
        assert!(core.schedules.cancel(actor, id, Vec::new()).await.is_err());
        assert!(
            core.schedules
                .fire_now(actor, id, Some("k".into()))
                .await
                .is_err()
        );
    }
    // The operator's is nobody else's.
    for who in [top, lead, ant, stranger] {
        assert!(
            core.schedules
                .fire_now(Actor::Agent(who), mine, None)
                .await
                .is_err()
        );
    }
    let seen = core
        .schedules
        .list(Actor::Agent(top), hived::schedules::Listing::All)
        .await;
    assert_eq!(seen.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_while_it_fires_leave_each_slot_one_version() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    for n in 0..20 {
        let change = body(&format!("v{n}"));
        let (fired, edited) = tokio::join!(
            run(&core.firing),
            core.schedules.edit(Actor::Operator, id, change)
        );
        edited.unwrap();
        let mut count = fired.get("fired");
        count += run(&core.firing).await.get("fired");
        assert_eq!(count, 1, "slot {n}");
        core.time.advance(secs(60));
    }
    assert_eq!(bodies(&core, ant).await.len(), 20);
    assert_eq!(slots(&core, id).await.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_timetable_begins_now_and_an_old_one_keeps_its_next_slot() {
    let core = Core::new();
    core.agent("ant").await;
    let id = schedule(&core, every(3_600, &["ant"])).await;
    run(&core.firing).await;
    core.time.advance(secs(600));
    let (_, view) = core
        .schedules
        .edit(Actor::Operator, id, body("x"))
        .await
        .unwrap();
    assert_eq!(view.row.next, Some(START.plus_ms(3_600_000)));
    let change = Change {
        cron: Some("*/15 * * * *".into()),
        zone: Some("Europe/Berlin".into()),
        ..Change::default()
    };
    let (_, view) = core
        .schedules
        .edit(Actor::Operator, id, change)
        .await
        .unwrap();
    assert_eq!(view.row.next, Some(START.plus_ms(900_000)));
}
