//! Off-screen notification under a clock that the test moves: what is told, when, how often, and that
//! nothing is told twice or forgotten.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::ids::{AgentId, UnixMs};
use hived::model::concern::{self, Concern};
use hived::model::event::Kind;
use hived::model::notification::{Patience, State};
use hived::notify::{
    Address, Channel, Format, Listing, Notify, NotifyError, OutboxRow, Program, Source, Step, Url,
    Way, Webhook,
};
use hived::store::events::{self, About};
use serde_json::json;

use crate::kit::{Core, secs};
use crate::receiver::{Answer, Receiver};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TOKEN: &str = "tk_0123456789abcdef";

/// A file outside of the hive's directory.
pub(crate) fn file(core: &Core, name: &str, text: &str) -> PathBuf {
    let dir = core.dir.path().parent().unwrap();
    let own = core.dir.path().file_name().unwrap().to_string_lossy();
    let path = dir.join(format!("{own}-{name}"));
    std::fs::write(&path, text).unwrap();
    path
}

pub(crate) fn channel(name: &str, way: Way) -> Channel {
    Channel {
        name: name.into(),
        on: concern::told().map(|rule| rule.concern).collect(),
        way,
        fold_ms: 60_000,
        timeout: Duration::from_secs(5),
        patience: Patience {
            tries: 10,
            first_pause_ms: 5_000,
        },
        details: true,
    }
}

fn hook(core: &Core, url: &str) -> Channel {
    let secret = file(core, "secret", SECRET);
    let webhook = Webhook {
        address: Address::Plain(Url::parse(url).unwrap()),
        secret: Some(Source::File(secret)),
        token: Some(Source::File(file(core, "token", TOKEN))),
        format: Format::Hive,
        allow_http: false,
    };
    channel("hook", Way::Webhook(webhook))
}

pub(crate) async fn notify(core: &Core, channels: Vec<Channel>) -> Notify {
    let (store, clock) = (core.store.clone(), core.time.clock());
    let notify = Notify::new(channels, store, clock, core.tasks.clone()).unwrap();
    notify.adopt().await.unwrap();
    notify
}

pub(crate) async fn happen(
    core: &Core,
    kind: Kind,
    agent: Option<AgentId>,
    data: serde_json::Value,
) {
    let about = About {
        agent,
        message: None,
    };
    let write = move |tx: &mut hived::store::Tx<'_>| events::append(tx, kind, about, &data);
    core.store.write(write).await.unwrap();
}

async fn die(core: &Core, id: i64) {
    happen(
        core,
        Kind::MessageDead,
        None,
        json!({"id": id, "why": "crashed"}),
    )
    .await;
}

/// Steps until nothing is due; says when something is.
pub(crate) async fn settle(notify: &Notify, channel: &str) -> Option<UnixMs> {
    for _ in 0..100 {
        if let Step::Rest(next) = notify.step(channel).await.unwrap() {
            return next;
        }
    }
    panic!("it never rests");
}

pub(crate) async fn rows(notify: &Notify) -> Vec<OutboxRow> {
    notify.list(Listing::All).await.unwrap()
}

/// Moves the clock to a time that was set down.
fn go_to(core: &Core, at: UnixMs) {
    let ms = at.0 - core.time.clock().now().0;
    core.time
        .advance(Duration::from_millis(u64::try_from(ms).unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_told_once_signed_and_not_again_after_a_restart() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    die(&core, 1).await;
    let channels = vec![hook(&core, &receiver.url)];
    let told = notify(&core, channels.clone()).await;
    // What happened before there was a channel waits in `hive status` alone.
    assert_eq!(settle(&told, "hook").await, None);
    let bee = core.agent("bee").await;
    happen(
        &core,
        Kind::AgentFailed,
        Some(bee),
        json!({"why": "died six times"}),
    )
    .await;
    assert_eq!(settle(&told, "hook").await, None);
    let core = core.restart();
    let again = notify(&core, channels).await;
    assert_eq!(settle(&again, "hook").await, None);
    let posts = receiver.posts();
    assert_eq!(posts.len(), 1);
    let (post, body) = (&posts[0], posts[0].json());
    assert!(post.is_signed_with(SECRET));
    assert!(!post.is_signed_with("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    let mut forged = post.clone();
    forged.body.push(b' ');
    assert!(!forged.is_signed_with(SECRET));
    assert_eq!(post.header("content-type"), "application/json");
    assert_eq!(post.header("authorization"), format!("Bearer {TOKEN}"));
    assert_eq!(body["type"], "hive.failed_agent");
    assert_eq!(body["data"]["id"], post.header("webhook-id"));
    assert_eq!(body["data"]["items"][0]["agent"], "bee");
    let text = body["data"]["text"].as_str().unwrap();
    assert!(text.contains("bee has failed: died six times"), "{text}");
    assert_eq!(rows(&again).await[0].state, State::Sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn dl17_failures_are_retried_with_one_id_one_body_and_growing_pauses() {
    let core = Core::new();
    let receiver = Receiver::start(vec![
        Answer::Status(500),
        Answer::Silence,
        Answer::With(429, "retry-after", "7200".into()),
        Answer::With(503, "retry-after", "1".into()),
    ])
    .await;
    let mut channel = hook(&core, &receiver.url);
    channel.timeout = Duration::from_millis(300);
    let told = notify(&core, vec![channel]).await;
    die(&core, 1).await;
    let mut pauses = Vec::new();
    while let Some(next) = settle(&told, "hook").await {
        pauses.push(next.0 - core.time.clock().now().0);
        // A moment too early nothing goes out.
        go_to(&core, next.plus_ms(-1));
        let before = receiver.posts().len();
        assert_eq!(settle(&told, "hook").await, Some(next));
        assert_eq!(receiver.posts().len(), before);
        go_to(&core, next);
    }
    let within = |pause: i64, plain: i64| (plain * 8 / 10..=plain * 12 / 10).contains(&pause);
    assert_eq!(pauses.len(), 4, "{pauses:?}");
    assert!(within(pauses[0], 5_000), "{pauses:?}");
    assert!(within(pauses[1], 15_000), "{pauses:?}");
    assert_eq!(pauses[2], 7_200_000);
    // The receiver may ask for more patience, not for less.
    assert!(within(pauses[3], 135_000), "{pauses:?}");
    let posts = receiver.posts();
    assert_eq!(posts.len(), 5);
    for post in &posts {
        assert_eq!(post.header("webhook-id"), posts[0].header("webhook-id"));
        assert_eq!(post.body, posts[0].body);
        assert!(post.is_signed_with(SECRET));
    }
    // Each try is stamped anew, so that a receiver may refuse what is old.
    assert_ne!(
        posts[0].header("webhook-timestamp"),
        posts[4].header("webhook-timestamp")
    );
    let row = rows(&told).await.remove(0);
    assert_eq!(
        (row.state, row.tries, row.last_error.as_str()),
        (State::Sent, 5, "")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dl17_after_the_last_try_it_is_dead_seen_told_elsewhere_and_can_be_retried() {
    let core = Core::new();
    let broken = Receiver::start(vec![Answer::Status(500); 10]).await;
    let whole = Receiver::start(Vec::new()).await;
    let mut other = hook(&core, &whole.url);
    other.name = "other".into();
    other.on = vec![Concern::NotificationDead];
    let told = notify(&core, vec![hook(&core, &broken.url), other]).await;
    die(&core, 1).await;
    while let Some(next) = settle(&told, "hook").await {
        go_to(&core, next);
    }
    assert_eq!(broken.posts().len(), 10);
    let row = rows(&told).await.remove(0);
    assert_eq!((row.state, row.tries), (State::Dead, 10));
    assert!(row.last_error.contains("500"), "{}", row.last_error);
    let dead = told.dead().await.unwrap();
    assert_eq!((dead[0].0.id, dead[0].1), (row.id, 1));
    // The channel itself is not told that it does not work; the other one is.
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(settle(&told, "other").await, None);
    assert_eq!(whole.posts()[0].json()["type"], "hive.notification_dead");
    // The receiver is mended.
    assert_eq!(told.retry(row.id).await.unwrap().tries, 0);
    assert!(matches!(
        told.retry(row.id).await,
        Err(NotifyError::NotDead(_))
    ));
    settle(&told, "hook").await;
    let posts = broken.posts();
    assert_eq!(
        posts[10].header("webhook-id"),
        posts[0].header("webhook-id")
    );
    assert_eq!(posts[10].body, posts[0].body);
    assert!(told.dead().await.unwrap().is_empty());
    let kinds = core.kinds().await;
    for (kind, times) in [
        ("notify.failed", 9),
        ("notify.dead", 1),
        ("notify.retried", 1),
        ("notify.sent", 2),
    ] {
        assert_eq!(
            kinds.iter().filter(|one| *one == kind).count(),
            times,
            "{kind}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_and_a_redirect_are_final_and_nothing_follows_them() {
    let elsewhere = Receiver::start(Vec::new()).await;
    for answer in [
        Answer::Status(404),
        Answer::With(307, "location", elsewhere.url.clone()),
        Answer::Saying(400, format!("no: {TOKEN}\x1b[2J")),
    ] {
        let core = Core::new();
        let receiver = Receiver::start(vec![answer.clone()]).await;
        let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
        die(&core, 1).await;
        assert_eq!(settle(&told, "hook").await, None);
        let row = rows(&told).await.remove(0);
        assert_eq!((row.state, row.tries), (State::Dead, 1), "{answer:?}");
        assert!(!row.last_error.contains(TOKEN), "{}", row.last_error);
        assert!(!row.last_error.contains('\x1b'), "{:?}", row.last_error);
    }
    assert!(elsewhere.posts().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_one_notification_a_kind_and_pause() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    die(&core, 0).await;
    settle(&told, "hook").await;
    for id in 1..100 {
        die(&core, id).await;
        if id % 10 == 0 {
            core.time.advance(secs(1));
            settle(&told, "hook").await;
        }
    }
    let bee = core.agent("bee").await;
    happen(&core, Kind::AgentFailed, Some(bee), json!({"why": "x"})).await;
    // Another kind does not wait for this one.
    let next = settle(&told, "hook").await.unwrap();
    let count = |at: usize| {
        receiver.posts()[at].json()["data"]["count"]
            .as_i64()
            .unwrap()
    };
    assert_eq!(receiver.posts().len(), 2);
    go_to(&core, next);
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(receiver.posts().len(), 3);
    assert_eq!([count(0), count(1), count(2)], [1, 1, 99]);
    let last = receiver.posts()[2].json();
    assert_eq!(last["data"]["title"], "hive: 99 messages are dead");
    // And so on: the next one has to wait for its turn again.
    core.time.advance(secs(10));
    die(&core, 100).await;
    let next = settle(&told, "hook").await.unwrap();
    assert_eq!(next.0 - core.time.clock().now().0, 50_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_no_longer_is_not_told() {
    let core = Core::new();
    let receiver = Receiver::start(vec![Answer::Status(500)]).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    for id in 1..=3 {
        die(&core, id).await;
    }
    happen(&core, Kind::MessageRevived, None, json!({"id": 2})).await;
    let next = settle(&told, "hook").await.unwrap();
    let text = receiver.posts()[0].json()["data"]["text"].to_string();
    assert!(
        text.contains("message 1") && !text.contains("message 2"),
        "{text}"
    );
    // A second one, whose only thing goes away while it waits for its turn, goes away with it; what a
    // try has begun for goes out.
    die(&core, 4).await;
    settle(&told, "hook").await;
    assert_eq!(rows(&told).await.len(), 2);
    for id in [1, 3, 4] {
        happen(&core, Kind::MessageRevived, None, json!({"id": id})).await;
    }
    go_to(&core, next);
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(rows(&told).await.len(), 1);
    assert_eq!(receiver.posts().len(), 2);
    assert_eq!(receiver.posts()[1].body, receiver.posts()[0].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_asks_for_its_login_every_minute_is_told_once_an_hour() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    let bee = core.agent("bee").await;
    for _ in 0..70 {
        for state in ["needs_login", "thinking"] {
            happen(&core, Kind::AgentState, Some(bee), json!({"state": state})).await;
            settle(&told, "hook").await;
        }
        core.time.advance(secs(60));
    }
    // Untold ones are withdrawn with the state that ended them: here each was told first.
    assert_eq!(receiver.posts().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_channel_wants_is_told_and_without_channels_nothing_is_stored() {
    let core = Core::new();
    let none = notify(&core, Vec::new()).await;
    assert!(matches!(
        none.test(None).await,
        Err(NotifyError::NoChannels)
    ));
    die(&core, 1).await;
    assert!(rows(&none).await.is_empty());
    let receiver = Receiver::start(Vec::new()).await;
    let mut picky = hook(&core, &receiver.url);
    picky.on = vec![Concern::FailedAgent];
    let told = notify(&core, vec![picky]).await;
    die(&core, 2).await;
    assert_eq!(settle(&told, "hook").await, None);
    assert!(rows(&told).await.is_empty());
    let bee = core.agent("bee").await;
    happen(&core, Kind::AgentFailed, Some(bee), json!({"why": "x"})).await;
    settle(&told, "hook").await;
    assert_eq!(receiver.posts().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_gone_takes_what_it_had_to_tell_with_it() {
    let core = Core::new();
    let receiver = Receiver::start(vec![Answer::Status(500)]).await;
    let channels = vec![hook(&core, &receiver.url)];
    let told = notify(&core, channels.clone()).await;
    die(&core, 1).await;
    assert!(settle(&told, "hook").await.is_some());
    let none = notify(&core, Vec::new()).await;
    assert!(rows(&none).await.is_empty());
    die(&core, 2).await;
    // Back again it begins with what happens from then on.
    let told = notify(&core, channels).await;
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(receiver.posts().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cr24_a_clock_set_back_or_far_ahead_holds_no_notification_for_ever() {
    let core = Core::new();
    let receiver = Receiver::start(vec![Answer::Status(500)]).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    die(&core, 1).await;
    assert!(settle(&told, "hook").await.is_some());
    let year = 365 * 24 * 3_600_000_i64;
    core.time.set_wall(core.time.clock().now().plus_ms(-year));
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(receiver.posts().len(), 2);
    die(&core, 2).await;
    assert_eq!(settle(&told, "hook").await, None);
    assert_eq!(receiver.posts().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_in_no_table_and_a_wrong_one_sends_nothing() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    let mut channel = hook(&core, &receiver.url);
    let told = notify(&core, vec![channel.clone()]).await;
    die(&core, 1).await;
    settle(&told, "hook").await;
    assert_eq!(receiver.posts().len(), 1);
    let Way::Webhook(webhook) = &mut channel.way else {
        panic!("a webhook");
    };
    webhook.secret = Some(Source::File(file(&core, "bad", "hunter2-is-no-secret")));
    let told = notify(&core, vec![channel]).await;
    core.time.advance(secs(60));
    die(&core, 2).await;
    assert!(settle(&told, "hook").await.is_some());
    assert_eq!(receiver.posts().len(), 1);
    let tested = told.test(None).await.unwrap().remove(0);
    let why = tested.error.unwrap();
    assert!(why.contains("whsec_") && !why.contains("hunter2"), "{why}");
    for name in ["hive.db", "hive.db-wal"] {
        let bytes = std::fs::read(core.dir.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for secret in [SECRET, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", TOKEN, "hunter2"] {
            assert!(!text.contains(secret), "{secret} is in {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_is_a_secret_is_in_no_error() {
    let core = Core::new();
    // A port that nobody listens on.
    let url = "http://127.0.0.1:9/services/T000/B000/quite-secret";
    let webhook = Webhook {
        address: Address::Secret(Source::File(file(&core, "url", url))),
        secret: None,
        token: None,
        format: Format::Slack,
        allow_http: false,
    };
    let told = notify(&core, vec![channel("slack", Way::Webhook(webhook))]).await;
    die(&core, 1).await;
    assert!(settle(&told, "slack").await.is_some());
    let row = rows(&told).await.remove(0);
    assert!(row.last_error.contains("refused"), "{}", row.last_error);
    assert!(
        !row.last_error.contains("quite-secret"),
        "{}",
        row.last_error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_half_of_its_time_and_not_for_an_answered_one() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    let bee = core.agent("bee").await;
    let start = core.time.clock().now();
    for id in [1, 2] {
        let data = json!({"id": id, "target": "operator", "options": 0,
            "deadline_ms": start.plus_ms(600_000)});
        happen(&core, Kind::QuestionAsked, Some(bee), data).await;
    }
    assert_eq!(settle(&told, "hook").await, Some(start.plus_ms(300_000)));
    happen(&core, Kind::QuestionAnswered, Some(bee), json!({"id": 1})).await;
    core.time.advance(secs(299));
    assert_eq!(settle(&told, "hook").await, Some(start.plus_ms(300_000)));
    assert!(receiver.posts().is_empty());
    core.time.advance(secs(1));
    assert_eq!(settle(&told, "hook").await, None);
    let body = receiver.posts()[0].json();
    assert_eq!(body["type"], "hive.question");
    assert_eq!(
        (
            body["data"]["count"].as_i64(),
            body["data"]["items"][0]["id"].as_i64()
        ),
        (Some(1), Some(2))
    );
}

pub(crate) fn program(core: &Core, script: &str) -> Way {
    use std::os::unix::fs::PermissionsExt as _;
    let path = file(core, "tell", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = [path.to_str().unwrap(), "{title}", "{text}"];
    Way::Command(Program {
        run: run.map(str::to_owned).to_vec(),
        env: vec!["HIVE_TEST_NOT_SET".into()],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_the_document_its_arguments_and_no_environment_of_hiveds() {
    let core = Core::new();
    let out = core.dir.path().join("out");
    let shown = out.display();
    let script = format!(
        "#!/bin/bash\ncat >{shown}.json\nprintf '%s\\n' \"$@\" >{shown}.args\nenv >{shown}.env\n"
    );
    let told = notify(&core, vec![channel("desk", program(&core, &script))]).await;
    die(&core, 7).await;
    assert_eq!(settle(&told, "desk").await, None);
    let read = |end: &str| std::fs::read_to_string(format!("{shown}.{end}")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(document["data"]["items"][0]["id"], 7);
    assert!(
        read("args").starts_with("hive: a message is dead\nmessage 7 to"),
        "{}",
        read("args")
    );
    let env = read("env");
    for line in ["HIVE_NOTIFY_KIND=dead", "HIVE_NOTIFY_COUNT=1"] {
        assert!(env.lines().any(|one| one == line), "{env}");
    }
    // Cargo's own variables stand for what hived's environment may hold.
    assert!(!env.contains("CARGO"), "{env}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_tried_again_and_one_that_hangs_is_ended_with_its_tree() {
    let core = Core::new();
    let runs = core.dir.path().join("runs");
    // Fails first; hangs then, with a child in a session of its own; works at last.
    let script = format!(
        "#!/bin/bash\necho $$ >>{0}\ncase $(wc -l <{0}) in\n\
         1) echo 'no screen' >&2; exit 3;;\n\
         2) setsid sleep 3600 & echo $! >{0}.child; sleep 3600;;\nesac\n",
        runs.display()
    );
    let mut desk = channel("desk", program(&core, &script));
    desk.timeout = Duration::from_millis(1500);
    let told = notify(&core, vec![desk]).await;
    die(&core, 1).await;
    let next = settle(&told, "desk").await.unwrap();
    let why = rows(&told).await.remove(0).last_error;
    assert!(why.contains("exit status: 3: no screen"), "{why}");
    go_to(&core, next);
    let next = settle(&told, "desk").await.unwrap();
    let why = rows(&told).await.remove(0).last_error;
    assert!(why.contains("was killed"), "{why}");
    let child = std::fs::read_to_string(format!("{}.child", runs.display())).unwrap();
    let alive = std::path::Path::new("/proc").join(child.trim()).join("exe");
    assert!(std::fs::read_link(alive).is_err(), "{child} lives on");
    go_to(&core, next);
    assert_eq!(settle(&told, "desk").await, None);
    assert_eq!(rows(&told).await[0].state, State::Sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_takes_old_notifications_and_no_pending_ones() {
    let core = Core::new();
    let receiver = Receiver::start(Vec::new()).await;
    let told = notify(&core, vec![hook(&core, &receiver.url)]).await;
    die(&core, 1).await;
    settle(&told, "hook").await;
    crate::kit::run(&core.retention).await;
    assert_eq!(rows(&told).await.len(), 1);
    die(&core, 2).await;
    // Waits for its turn, and for ever if nobody steps.
    told.step("hook").await.unwrap();
    for _ in 0..31 {
        for _ in 0..24 {
            core.time.advance(secs(3600));
        }
        crate::kit::run(&core.retention).await;
    }
    let left: Vec<_> = rows(&told).await.into_iter().map(|row| row.tries).collect();
    assert_eq!(left, [0]);
}
