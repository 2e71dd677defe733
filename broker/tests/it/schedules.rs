//! Slots: each is settled once, whatever the clock does, and says what became of it.

use hive_proto::ids::{AgentId, ScheduleId, UnixMs};
use hive_proto::v1::{Outcome, Role};
use hived::inbox::{Limits, Sender};
use hived::model::schedule::{Misfire, Overlap, State};
use hived::schedules::{Actor, Draft, Settled, When};
use hived::store::Recipient;
use hived::store::agents::{self, Removal};

use crate::kit::{Core, START, run, secs};

/// A schedule of the operator's.
pub(crate) async fn schedule(core: &Core, draft: Draft) -> ScheduleId {
    core.schedules.create(draft).await.unwrap().row.id
}

pub(crate) fn every(secs: u64, targets: &[&str]) -> Draft {
    Draft {
        targets: targets.iter().map(|name| (*name).to_owned()).collect(),
        body: "look".to_owned(),
        when: When {
            interval_secs: Some(secs),
            first: Some(START),
            ..When::default()
        },
        ..Draft::default()
    }
}

fn cron(pattern: &str, zone: &str, targets: &[&str]) -> Draft {
    Draft {
        when: When {
            cron: pattern.to_owned(),
            zone: zone.to_owned(),
            ..When::default()
        },
        ..every(60, targets)
    }
}

/// Every slot in a few words: target, time, what became of it.
pub(crate) async fn slots(core: &Core, id: ScheduleId) -> Vec<String> {
    let detail = core.schedules.detail(Actor::Operator, id, 0).await.unwrap();
    let words = |row: &hived::schedules::OccurrenceRow| {
        let at = row.slot.rfc3339().replace(":00.000Z", "Z");
        format!("{} {at} {}", row.target_name, row.settled.words())
    };
    detail.occurrences.iter().map(words).collect()
}

async fn bodies(core: &Core, of: AgentId) -> Vec<String> {
    let mail = core.mail(Recipient::Agent(of)).await;
    mail.into_iter().map(|(_, body)| body).collect()
}

fn at(text: &str) -> UnixMs {
    UnixMs(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_becomes_a_message_of_its_owner() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    assert_eq!(run(&core.firing).await.get("fired"), 1);
    assert_eq!(run(&core.firing).await.get("fired"), 0);
    assert_eq!(
        core.mail(Recipient::Agent(ant)).await,
        [("operator".to_owned(), "look".to_owned())]
    );
    core.time.advance(secs(60));
    assert_eq!(run(&core.firing).await.get("fired"), 1);
    assert_eq!(
        slots(&core, id).await,
        ["ant 2026-12-01T00:00Z fired", "ant 2026-12-01T00:01Z fired"]
    );
    let kinds = core.kinds().await;
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "schedule.fired")
            .count(),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_slot_is_spent_when_it_has_fired() {
    let core = Core::new();
    core.agent("ant").await;
    let once = Draft {
        when: When {
            first: Some(START.plus_ms(5_000)),
            ..When::default()
        },
        ..every(60, &["ant"])
    };
    let id = schedule(&core, once).await;
    core.time.advance(secs(5));
    run(&core.firing).await;
    let view = core.schedules.get(Actor::Operator, id).await.unwrap();
    assert_eq!((view.row.state, view.row.next), (State::Done, None));
    core.time.advance(secs(1_000));
    assert_eq!(run(&core.firing).await.get("fired"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_past_two_in_berlin_fires_once_on_both_days_of_change() {
    let core = Core::new();
    core.agent("ant").await;
    core.time.set_wall(at("2027-03-26T12:00:00Z"));
    let id = schedule(&core, cron("30 2 * * *", "Europe/Berlin", &["ant"])).await;
    for hour in 0..72 {
        core.time
            .set_wall(at("2027-03-26T12:00:10Z").plus_ms(hour * 3_600_000));
        run(&core.firing).await;
    }
    core.time.set_wall(at("2027-10-29T12:00:00Z"));
    run(&core.firing).await;
    let before = slots(&core, id).await.len();
    for hour in 0..72 {
        core.time
            .set_wall(at("2027-10-29T12:00:10Z").plus_ms(hour * 3_600_000));
        run(&core.firing).await;
    }
    let all = slots(&core, id).await;
    assert_eq!(
        all[..3],
        [
            "ant 2027-03-27T01:30Z fired",
            "ant 2027-03-28T01:00Z fired",
            "ant 2027-03-29T00:30Z fired"
        ]
    );
    assert_eq!(
        all[before..],
        [
            "ant 2027-10-30T00:30Z fired",
            "ant 2027-10-31T00:30Z fired",
            "ant 2027-11-01T01:30Z fired"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_three_slots_while_down_one_fires_and_all_are_told() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    run(&core.firing).await;
    let core = {
        core.time.advance(secs(190));
        core.restart()
    };
    let report = run(&core.firing).await;
    assert_eq!((report.get("fired"), report.get("skipped")), (1, 2));
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z fired",
            "ant 2026-12-01T00:01Z skipped: missed while down",
            "ant 2026-12-01T00:02Z skipped: missed while down",
            "ant 2026-12-01T00:03Z fired: late: it stands for those that were missed",
        ]
    );
    assert_eq!(bodies(&core, ant).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn misfire_skip_lets_nothing_fire_more_than_an_hour_late() {
    let core = Core::new();
    core.agent("ant").await;
    let daily = Draft {
        misfire: Some(Misfire::Skip),
        ..every(86_400, &["ant"])
    };
    let id = schedule(&core, daily).await;
    core.time.advance(secs(3_601));
    run(&core.firing).await;
    core.time.advance(secs(86_400));
    run(&core.firing).await;
    core.time.advance(secs(86_400 - 60));
    run(&core.firing).await;
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z skipped: more than an hour late",
            "ant 2026-12-02T00:00Z skipped: more than an hour late",
            "ant 2026-12-03T00:00Z fired",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_year_of_minutes_is_few_rows_and_no_slot_is_forgotten() {
    let core = Core::new();
    core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    core.time.advance(secs(365 * 86_400));
    run(&core.firing).await;
    let detail = core.schedules.detail(Actor::Operator, id, 0).await.unwrap();
    assert_eq!(detail.occurrences.len(), 102);
    let slots: u64 = detail.occurrences.iter().map(|row| row.slots).sum();
    assert_eq!(slots, 365 * 1_440 + 1);
    let run = &detail.occurrences[100];
    assert_eq!(
        run.settled.words(),
        "skipped: missed while down (525500 slots from this one on)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_fires_nothing_twice() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    for step in [0, 60, -120, 60, 60, -60, 120, -300, 300, 60] {
        core.time.set_wall(hived_now(&core).plus_ms(step * 1000));
        run(&core.firing).await;
    }
    let all = slots(&core, id).await;
    let mut unique = all.clone();
    unique.dedup();
    assert_eq!(all, unique);
    assert_eq!(bodies(&core, ant).await.len(), all.len());
}

fn hived_now(core: &Core) -> UnixMs {
    core.time.clock().now()
}

#[tokio::test(flavor = "multi_thread")]
async fn overlap_skip_waits_for_the_last_one_to_be_finished() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let polite = Draft {
        overlap: Some(Overlap::Skip),
        ..every(60, &["ant"])
    };
    let id = schedule(&core, polite).await;
    run(&core.firing).await;
    core.time.advance(secs(60));
    run(&core.firing).await;
    let epoch = core.open(ant, "one").await;
    let taken = core.take(ant, epoch, 1).await;
    core.time.advance(secs(60));
    run(&core.firing).await;
    core.end(ant, epoch, taken.turn.unwrap(), Outcome::Ok).await;
    core.time.advance(secs(60));
    run(&core.firing).await;
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z fired",
            "ant 2026-12-01T00:01Z skipped: the last one is not finished",
            "ant 2026-12-01T00:02Z skipped: the last one is not finished",
            "ant 2026-12-01T00:03Z fired",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_and_a_removed_agent_are_reasons() {
    let limits = Limits {
        mailbox_rows: 1,
        ..Limits::default()
    };
    let core = Core::with(limits);
    let ant = core.agent("ant").await;
    let bee = core.agent("bee").await;
    let id = schedule(&core, every(60, &["ant", "bee"])).await;
    core.send(Sender::Operator, "ant", "first").await;
    core.store
        .write(move |tx| agents::set_removed(tx, bee, Removal::Kept))
        .await
        .unwrap();
    run(&core.firing).await;
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z skipped: mailbox full",
            "bee 2026-12-01T00:00Z skipped: target is gone"
        ]
    );
    assert_eq!(bodies(&core, ant).await, ["first"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn purged_agents_leave_schedules_and_one_without_targets_ends() {
    let core = Core::new();
    let (ant, bee) = (core.agent("ant").await, core.agent("bee").await);
    let id = schedule(&core, every(60, &["ant", "bee"])).await;
    core.store
        .write(move |tx| agents::set_removed(tx, bee, Removal::Purged))
        .await
        .unwrap();
    core.agent("bee").await;
    run(&core.firing).await;
    assert_eq!(
        slots(&core, id).await,
        [
            "ant 2026-12-01T00:00Z fired",
            "bee 2026-12-01T00:00Z skipped: target removed"
        ]
    );
    core.store
        .write(move |tx| agents::set_removed(tx, ant, Removal::Purged))
        .await
        .unwrap();
    run(&core.firing).await;
    let view = core.schedules.get(Actor::Operator, id).await.unwrap();
    assert_eq!(view.row.state, State::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn fired_by_hand_is_a_slot_of_its_own() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let id = schedule(&core, every(60, &["ant"])).await;
    run(&core.firing).await;
    let key = Some("k1".to_owned());
    let fired = core
        .schedules
        .fire_now(Actor::Operator, id, key.clone())
        .await
        .unwrap();
    assert_eq!(fired.occurrences.len(), 1);
    assert!(fired.occurrences[0].extra);
    assert!(
        matches!(&fired.occurrences[0].settled, Settled::Fired { reason, .. } if reason == "fired by hand")
    );
    let again = core
        .schedules
        .fire_now(Actor::Operator, id, key)
        .await
        .unwrap();
    assert_eq!(again.occurrences, fired.occurrences);
    core.schedules
        .fire_now(Actor::Operator, id, None)
        .await
        .unwrap();
    assert_eq!(bodies(&core, ant).await.len(), 3);
    let view = core.schedules.get(Actor::Operator, id).await.unwrap();
    assert_eq!(view.row.next, Some(START.plus_ms(60_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_slot_is_consumed_by_hand() {
    let core = Core::new();
    let ant = core.agent("ant").await;
    let once = Draft {
        when: When {
            first: Some(START.plus_ms(60_000)),
            ..When::default()
        },
        ..every(60, &["ant"])
    };
    let id = schedule(&core, once).await;
    let key = Some("k1".to_owned());
    core.schedules
        .fire_now(Actor::Operator, id, key.clone())
        .await
        .unwrap();
    // Its replay is told the same, a second call is refused.
    core.schedules
        .fire_now(Actor::Operator, id, key)
        .await
        .unwrap();
    assert!(
        core.schedules
            .fire_now(Actor::Operator, id, None)
            .await
            .is_err()
    );
    core.time.advance(secs(120));
    run(&core.firing).await;
    assert_eq!(bodies(&core, ant).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_removed_owner_is_silent_until_it_is_back() {
    let core = Core::new();
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let ant = core.agent_under("ant", Role::Agent, Some(lead)).await;
    let asked = core
        .schedules
        .request(lead, every(60, &["ant"]))
        .await
        .unwrap();
    let by = hived::approvals::By {
        who: "uid 0".into(),
        digest: asked.digest,
        note: String::new(),
    };
    core.approvals
        .decide(asked.id, hived::approvals::Decision::Approve, by)
        .await
        .unwrap();
    run(&core.intents).await;
    run(&core.firing).await;
    assert_eq!(core.mail(Recipient::Agent(ant)).await[0].0, "lead");
    core.store
        .write(move |tx| agents::set_removed(tx, lead, Removal::Kept))
        .await
        .unwrap();
    core.time.advance(secs(60));
    run(&core.firing).await;
    let all = slots(&core, ScheduleId(1)).await;
    assert_eq!(all[1], "ant 2026-12-01T00:01Z skipped: owner is gone");
    core.store
        .write(move |tx| agents::set_removed(tx, ant, Removal::Purged))
        .await
        .unwrap();
    run(&core.firing).await;
    let view = core
        .schedules
        .get(Actor::Operator, ScheduleId(1))
        .await
        .unwrap();
    assert_eq!(view.row.state, State::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_that_say_no_schedule_are_refused() {
    let core = Core::new();
    core.agent("ant").await;
    let good = || every(60, &["ant"]);
    let when = |when: When| Draft { when, ..good() };
    let bad = [
        every(60, &[]),
        every(60, &["operator"]),
        every(60, &["*"]),
        every(60, &["nobody"]),
        every(60, &["../ant"]),
        every(59, &["ant"]),
        Draft {
            body: " \n".into(),
            ..good()
        },
        Draft {
            body: "x".repeat(64 * 1024 + 1),
            ..good()
        },
        when(When::default()),
        when(When {
            first: Some(START.plus_ms(-61_000)),
            ..When::default()
        }),
        when(When {
            cron: "0 0 30 2 *".into(),
            ..When::default()
        }),
        when(When {
            cron: "* * * * * *".into(),
            ..When::default()
        }),
        when(When {
            cron: "0 9 * * *".into(),
            zone: "Berlin".into(),
            ..When::default()
        }),
        when(When {
            cron: "0 9 * * *".into(),
            interval_secs: Some(60),
            ..When::default()
        }),
        when(When {
            interval_secs: Some(60),
            zone: "UTC".into(),
            ..When::default()
        }),
    ];
    for draft in bad {
        let refused = core.schedules.create(draft.clone()).await;
        assert!(refused.is_err(), "{draft:?}");
    }
    assert!(core.schedules.create(good()).await.is_ok());
}
