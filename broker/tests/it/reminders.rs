//! Reminders: once, in time, and never lost in silence.

use hive_proto::ids::{AgentId, ReminderId, UnixMs};
use hive_proto::v1::{ReminderState, Role};
use hived::inbox::{Limits, Novelty, Sender};
use hived::loose_ends::{self, Kind, LooseEndError};
use hived::questions::Decider;
use hived::reconcile::Reconciler as _;
use hived::reminders::{Listing, ReminderError, ReminderRow, Setting};
use hived::store::Recipient;
use hived::store::agents::{self, Desired, Removal};

use crate::kit::{Core, START, run, secs};

const OPERATOR: Sender = Sender::Operator;

fn setting(body: &str, due: &str) -> Setting {
    Setting {
        body: body.into(),
        due: due.into(),
        key: None,
    }
}

async fn remind(core: &Core, agent: AgentId, body: &str, due: &str) -> ReminderId {
    core.reminders
        .set(agent, setting(body, due))
        .await
        .unwrap()
        .id
}

async fn get(core: &Core, id: ReminderId) -> ReminderRow {
    core.reminders.get(id).await.unwrap()
}

async fn mail(core: &Core, agent: AgentId) -> Vec<(String, String)> {
    core.mail(Recipient::Agent(agent)).await
}

fn from_reminder(body: &str) -> (String, String) {
    ("reminder".into(), body.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_comes_once_when_its_time_has_come() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let later = remind(&core, cook, "later", "1h").await;
    let soon = remind(&core, cook, "soon", "in 10m").await;
    assert_eq!(run(&core.due).await.get("fired"), 0);
    assert!(core.due.period() <= secs(15));
    core.time
        .advance(secs(600) - std::time::Duration::from_millis(200));
    assert_eq!(run(&core.due).await.get("fired"), 0);
    assert_eq!(core.due.period(), std::time::Duration::from_millis(200));
    core.time.advance(secs(1));
    assert_eq!(run(&core.due).await.get("fired"), 1);
    assert_eq!(run(&core.due).await.get("fired"), 0);
    assert_eq!(mail(&core, cook).await, [from_reminder("soon")]);
    let row = get(&core, soon).await;
    assert_eq!(row.state, ReminderState::Fired);
    assert_eq!(core.message(row.message.unwrap()).await.body, "soon");
    assert_eq!(get(&core, later).await.state, ReminderState::Pending);
    // What comes due while the broker is down comes when it is back, once.
    core.time.advance(secs(3 * 60 * 60));
    let core = core.restart();
    assert_eq!(run(&core.due).await.get("fired"), 1);
    assert_eq!(run(&core.due).await.get("fired"), 0);
    assert_eq!(mail(&core, cook).await.len(), 2);
    let kinds = core.kinds().await;
    let about: Vec<_> = kinds
        .iter()
        .filter(|kind| kind.starts_with("reminder"))
        .collect();
    assert_eq!(
        about,
        [
            "reminder.set",
            "reminder.set",
            "reminder.fired",
            "reminder.fired"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_agents_reminder_waits_in_its_inbox_and_a_removed_ones_waits_for_its_return() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    for agent in [cook, scout] {
        remind(&core, agent, "work", "1m").await;
    }
    core.store
        .write(move |tx| {
            agents::set_desired(tx, cook, Desired::Stopped)?;
            agents::set_removed(tx, scout, Removal::Kept)?;
            loose_ends::owner_is_gone(tx, scout, Removal::Kept)
        })
        .await
        .unwrap();
    core.time.advance(secs(60));
    assert_eq!(run(&core.due).await.get("fired"), 1);
    assert_eq!(mail(&core, cook).await, [from_reminder("work")]);
    assert!(mail(&core, scout).await.is_empty());
    // Nothing is due, so nothing is looked for in a hurry.
    assert_eq!(core.due.period(), secs(15));
    core.agent("scout").await;
    assert_eq!(
        run(&core.due).await.get("fired"),
        0,
        "a new agent of the name is another one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purged_agents_reminders_are_over() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let id = remind(&core, cook, "work", "1m").await;
    core.store
        .write(move |tx| {
            agents::set_removed(tx, cook, Removal::Purged)?;
            loose_ends::owner_is_gone(tx, cook, Removal::Purged)
        })
        .await
        .unwrap();
    assert_eq!(get(&core, id).await.state, ReminderState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_is_tried_five_times_and_then_a_person_is_asked() {
    let core = Core::with(Limits {
        mailbox_rows: 1,
        ..Limits::default()
    });
    let cook = core.agent("cook").await;
    let blocking = core.send(OPERATOR, "cook", "fills the mailbox").await;
    let id = remind(&core, cook, "work", "1s").await;
    core.time.advance(secs(1));
    for (attempt, back_off) in [(1, 5), (2, 10), (3, 20), (4, 40)] {
        assert_eq!(run(&core.due).await.get("refused"), 1, "try {attempt}");
        assert_eq!(
            run(&core.due).await.get("refused"),
            0,
            "not before its back-off"
        );
        let row = get(&core, id).await;
        assert_eq!((row.state, row.attempts), (ReminderState::Pending, attempt));
        assert_eq!(row.error, "its mailbox holds 1 messages");
        core.time.advance(secs(back_off));
    }
    assert_eq!(run(&core.due).await.get("refused"), 1);
    assert_eq!(get(&core, id).await.state, ReminderState::Failed);
    core.time.advance(secs(100_000));
    assert_eq!(run(&core.due).await.get("refused"), 0);
    let failed = core.reminders.failed().await.unwrap();
    assert_eq!(failed.iter().map(|row| row.id).collect::<Vec<_>>(), [id]);

    // Tried again by a person, with five tries as at first.
    let row = core.reminders.retry(id).await.unwrap();
    assert_eq!((row.state, row.attempts), (ReminderState::Pending, 0));
    assert!(core.reminders.failed().await.unwrap().is_empty());
    let epoch = core.open(cook, "a").await;
    let received = core.take(cook, epoch, 1).await;
    assert_eq!(received.rows[0].id, blocking);
    core.end(
        cook,
        epoch,
        received.turn.unwrap(),
        hive_proto::v1::Outcome::Ok,
    )
    .await;
    assert_eq!(run(&core.due).await.get("fired"), 1);
    assert_eq!(core.take(cook, epoch, 1).await.rows[0].body, "work");
    let again = core.reminders.retry(id).await;
    assert!(
        matches!(again, Err(ReminderError::WrongState { .. })),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_may_wait_and_failed_ones_count() {
    let core = Core::new();
    let (cook, scout) = (core.agent("cook").await, core.agent("scout").await);
    let mut first = None;
    for _ in 0..50 {
        first = Some(remind(&core, cook, "work", "1h").await);
    }
    let most = core.reminders.set(cook, setting("work", "1h")).await;
    assert!(
        matches!(most, Err(ReminderError::TooMany { pending: 50 })),
        "{most:?}"
    );
    remind(&core, scout, "another's", "1h").await;
    core.loose_ends
        .cancel(cook, Kind::Reminder, first.unwrap().0)
        .await
        .unwrap();
    remind(&core, cook, "work", "1h").await;
    core.time.advance(secs(3600));
    assert_eq!(run(&core.due).await.get("fired"), 51);
    remind(&core, cook, "work", "1h").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_call_sets_one_reminder_at_the_first_time() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    let keyed = |body: &str, due: &str| Setting {
        key: Some("m1:tool".into()),
        ..setting(body, due)
    };
    let first = core
        .reminders
        .set(cook, keyed("work", "in 10m"))
        .await
        .unwrap();
    assert_eq!(first.due_at, UnixMs(START.0 + 600_000));
    core.time.advance(secs(300));
    let again = core
        .reminders
        .set(cook, keyed("work", "in 10m"))
        .await
        .unwrap();
    assert_eq!(
        (again.id, again.novelty, again.due_at),
        (first.id, Novelty::Duplicate, first.due_at)
    );
    let other = core.reminders.set(cook, keyed("rest", "in 10m")).await;
    assert!(
        matches!(other, Err(ReminderError::KeyConflict(id)) if id == first.id),
        "{other:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_those_above_and_the_operator_cancel() {
    let core = Core::new();
    let lead = core.agent_under("lead", Role::Manager, None).await;
    let cook = core.agent_under("cook", Role::Agent, Some(lead)).await;
    let scout = core.agent_under("scout", Role::Agent, Some(lead)).await;
    let give_up = |agent, id: ReminderId| {
        let core = &core;
        async move { core.loose_ends.cancel(agent, Kind::Reminder, id.0).await }
    };
    let id = remind(&core, cook, "work", "1h").await;
    let refused = give_up(scout, id).await;
    assert!(
        matches!(
            refused,
            Err(LooseEndError::Reminder(ReminderError::NotYours { .. }))
        ),
        "{refused:?}"
    );
    give_up(lead, id).await.unwrap();
    // Again changes nothing: a call is made again when its reply was lost.
    give_up(cook, id).await.unwrap();
    let fired = remind(&core, cook, "now", "0s").await;
    run(&core.due).await;
    let over = give_up(cook, fired).await;
    assert!(
        matches!(
            over,
            Err(LooseEndError::Reminder(ReminderError::WrongState { .. }))
        ),
        "{over:?}"
    );
    let id = remind(&core, cook, "work", "1h").await;
    core.reminders.cancel(Decider::Operator, id).await.unwrap();
    core.time.advance(secs(3600));
    assert_eq!(run(&core.due).await.get("fired"), 0);
    assert_eq!(mail(&core, cook).await, [from_reminder("now")]);
    let listed = core
        .reminders
        .list("cook".into(), Listing::Everything, 0)
        .await
        .unwrap();
    assert_eq!(listed.len(), 3);
    assert!(
        core.reminders
            .list(String::new(), Listing::Unfinished, 0)
            .await
            .unwrap()
            .is_empty()
    );
    let unknown = core
        .reminders
        .list("nobody".into(), Listing::Unfinished, 0)
        .await;
    assert!(
        matches!(unknown, Err(ReminderError::NoSuchAgent(_))),
        "{unknown:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_forward_is_noticed() {
    let core = Core::new();
    let cook = core.agent("cook").await;
    remind(&core, cook, "work", "1h").await;
    run(&core.due).await;
    assert!(
        core.due.period() <= secs(15),
        "it looks again soon whatever the time is"
    );
    core.time.set_wall(START.plus_ms(3_600_000));
    assert_eq!(run(&core.due).await.get("fired"), 1);
    // Set back, nothing fires twice.
    core.time.set_wall(START);
    assert_eq!(run(&core.due).await.get("fired"), 0);
    core.time.set_wall(START.plus_ms(7_200_000));
    assert_eq!(run(&core.due).await.get("fired"), 0);
}
