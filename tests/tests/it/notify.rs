//! Off-screen notification end to end: a real receiver that fails, real programs, the commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hive_proto::v1::{ListNotificationsRequest, Notification, RemoveAgentRequest};
use hive_tests::TestHive;
use hive_tests::builder::Setup;
use hive_tests::receiver::{Answer, Receiver};
use hive_tests::wait::{SOON, until};

pub(crate) const SECRET: &str = "whsec_bm90LWEtcmVhbC1zZWNyZXQtb2YtYW55Ym9keQ==";
const SECRET_BASE64: &str = "bm90LWEtcmVhbC1zZWNyZXQtb2YtYW55Ym9keQ==";

/// One `[[notify]]`.
pub(crate) fn channel(text: &str) -> toml::Value {
    toml::Value::Table(text.parse().unwrap())
}

/// A signed webhook that is tried again soon.
pub(crate) fn webhook(url: &str) -> toml::Value {
    channel(&format!(
        "kind = \"webhook\"\nurl = \"{url}\"\nsecret_env = \"OPERATORS_SECRET\"\n\
         timeout_secs = 1\nretry_secs = 1\nfold_secs = 0"
    ))
}

pub(crate) fn setup(channels: Vec<toml::Value>) -> Setup {
    TestHive::builder()
        .by_hand()
        .set("notify", toml::Value::Array(channels))
        .env("OPERATORS_SECRET", SECRET)
}

/// A dead letter the short way: the mail of an agent that is purged.
async fn make_dead(hive: &mut TestHive, name: &str) -> i64 {
    hive.create(name, "").await;
    let id = hive.send(name, "for nobody").await;
    let request = RemoveAgentRequest {
        name: name.to_owned(),
        purge: true,
    };
    hive.operator().remove_agent(request).await.unwrap();
    id
}

pub(crate) async fn notifications(hive: &TestHive) -> Vec<Notification> {
    let request = ListNotificationsRequest { all: true };
    let answer = hive.operator().list_notifications(request).await.unwrap();
    answer.into_inner().notifications
}

/// Waits until every notification, and at least one, is in that state.
pub(crate) async fn until_all(hive: &TestHive, state: &str, limit: Duration) -> Vec<Notification> {
    until(&format!("all are {state}"), limit, || async {
        let all = notifications(hive).await;
        let done = !all.is_empty() && all.iter().all(|one| one.state == state);
        done.then_some(all)
    })
    .await
}

/// Whether a process does anything: one that nobody has reaped does not.
fn runs(pid: &str) -> bool {
    std::fs::read_link(Path::new("/proc").join(pid.trim()).join("exe")).is_ok()
}

fn script(hive_dir: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = hive_dir.join("tell");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn dl17_a_receiver_that_fails_gets_it_again_with_one_id_until_it_has_it() {
    let receiver = Receiver::start(vec![
        Answer::Status(500),
        Answer::Silence,
        Answer::With(429, "retry-after", "2".into()),
    ])
    .await;
    let mut hive = setup(vec![webhook(&receiver.url)]).start().await;
    let id = make_dead(&mut hive, "bee").await;
    let sent = until_all(&hive, "sent", Duration::from_secs(60)).await;
    assert_eq!(
        (sent.len(), sent[0].tries, sent[0].kind.as_str()),
        (1, 4, "dead")
    );
    let posts = receiver.posts();
    assert_eq!(posts.len(), 4);
    for post in &posts {
        assert_eq!(post.header("webhook-id"), sent[0].webhook_id);
        assert_eq!(post.body, posts[0].body);
        assert!(post.is_signed_with(SECRET));
        assert!(!post.is_signed_with("whsec_YW5vdGhlci1zZWNyZXQtb2Ytbm9ib2R5LWF0LWFsbA=="));
    }
    assert_eq!(posts[3].json()["data"]["items"][0]["id"], id);
    // No key of the operator's is anywhere that others may look.
    let pid = hive.daemon().pid();
    let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let mut places = vec![hive.log().into_bytes(), argv];
    for file in ["hive.db", "hive.db-wal", "hive.toml", "logs/hived.log"] {
        places.push(std::fs::read(hive.home().join(file)).unwrap_or_default());
    }
    for place in places {
        let text = String::from_utf8_lossy(&place).into_owned();
        assert!(!text.contains(SECRET_BASE64), "{text}");
    }
}

#[tokio::test]
async fn what_could_not_be_delivered_waits_in_status_and_can_be_retried() {
    let receiver = Receiver::start(vec![Answer::Saying(404, "no such hook".into())]).await;
    let mut hive = setup(vec![webhook(&receiver.url)]).start().await;
    make_dead(&mut hive, "bee").await;
    until_all(&hive, "dead", SOON).await;
    let status = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let waiting = status["waiting"].as_array().unwrap();
    let one = waiting
        .iter()
        .find(|one| one["kind"] == "notification_dead");
    let one = one.unwrap_or_else(|| panic!("{status}"));
    assert!(one["text"].as_str().unwrap().contains("404"), "{one}");
    assert!(one["since"].is_string(), "{one}");
    let listed = hive.hive(&["notify", "ls"]).await.expect_code(0).stdout;
    assert!(listed.contains("no such hook"), "{listed}");
    assert!(
        listed.lines().all(|line| line.chars().count() <= 100),
        "{listed}"
    );
    let id = one["id"].to_string();
    hive.hive(&["notify", "retry", &id]).await.expect_code(0);
    until_all(&hive, "sent", SOON).await;
    hive.hive(&["notify", "retry", &id]).await.expect_code(4);
    hive.hive(&["notify", "retry", "4711"]).await.expect_code(3);
    let left = hive.hive(&["notify", "ls", "--json"]).await.expect_code(0);
    assert_eq!(left.json(), serde_json::json!([]));
    let all = hive.hive(&["notify", "ls", "--all", "--json"]).await.json();
    assert_eq!(all[0]["state"], "sent");
}

#[tokio::test]
async fn a_test_tries_every_channel_and_says_why_one_fails() {
    let receiver = Receiver::start(Vec::new()).await;
    let slack = Receiver::start(vec![Answer::Saying(403, "invalid_token".into())]).await;
    let channels = vec![
        webhook(&receiver.url),
        channel(&format!(
            "name = \"slack\"\nkind = \"webhook\"\nformat = \"slack\"\nurl = \"{}\"",
            slack.url
        )),
        channel("kind = \"command\"\nrun = [\"/bin/true\"]"),
        channel("name = \"gone\"\nkind = \"command\"\nrun = [\"/no/such/program\"]"),
    ];
    let hive = setup(channels).start().await;
    let ran = hive.hive(&["notify", "test"]).await.expect_code(1);
    let line = |name: &str| {
        let lines = ran.stdout.lines();
        let mut found = lines.filter(|line| line.contains(&format!(" {name} ")));
        found
            .next_back()
            .unwrap_or_else(|| panic!("{}", ran.stdout))
            .to_owned()
    };
    assert!(line("webhook").starts_with("ok"), "{}", ran.stdout);
    assert!(line("command").starts_with("ok"), "{}", ran.stdout);
    assert!(
        line("slack").contains("403 Forbidden: invalid_token"),
        "{}",
        ran.stdout
    );
    assert!(
        line("gone").contains("/no/such/program cannot be run"),
        "{}",
        ran.stdout
    );
    let json = hive
        .hive(&["notify", "test", "webhook", "--json"])
        .await
        .expect_code(0)
        .json();
    assert_eq!(json[0]["ok"], true);
    assert_eq!(receiver.posts().len(), 2);
    assert_eq!(receiver.posts()[0].json()["type"], "hive.test");
    hive.hive(&["notify", "test", "pager"]).await.expect_code(3);
    // A test is nothing that waits or was told.
    assert!(notifications(&hive).await.is_empty());
}

#[tokio::test]
async fn without_channels_doctor_says_that_nothing_reaches_you() {
    let hive = TestHive::builder().by_hand().start().await;
    let doctor = hive.hive(&["doctor"]).await;
    assert!(
        doctor.stdout.contains("nothing reaches you off-screen"),
        "{}",
        doctor.stdout
    );
    let refused = hive.hive(&["notify", "test"]).await.expect_code(4);
    assert!(
        refused.stderr.contains("names no [[notify]] channel"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_disk_that_fills_up_is_told_and_waits_in_status() {
    let receiver = Receiver::start(Vec::new()).await;
    let hive = setup(vec![webhook(&receiver.url)])
        // More than any disk of a test has.
        .set("disk.low", "9000000GiB")
        .set("disk.full", "1KiB")
        .start()
        .await;
    until_all(&hive, "sent", SOON).await;
    assert_eq!(receiver.posts()[0].json()["type"], "hive.disk");
    let status = hive.hive(&["status", "--json"]).await.json();
    let waiting = status["waiting"].as_array().unwrap();
    assert!(waiting.iter().any(|one| one["kind"] == "disk"), "{status}");
}

#[tokio::test]
async fn a_command_that_hived_died_in_is_ended_before_it_runs_again() {
    let mut hive = setup(Vec::new()).prepare();
    let dir = hive.home();
    let pids = dir.join("pids");
    // The first run hangs; later ones write down what they were given.
    let text = format!(
        "#!/bin/bash\necho $$ >>{0}\nif [ $(wc -l <{0}) = 1 ]; then exec sleep 3600; fi\ncat >{0}.json\n",
        pids.display()
    );
    let program = script(&dir, &text);
    let command = channel(&format!(
        "kind = \"command\"\nrun = [\"{}\"]\ntimeout_secs = 60\nretry_secs = 1",
        program.display()
    ));
    hive.replace_setup(setup(vec![command]));
    hive.start().await;
    make_dead(&mut hive, "bee").await;
    let lines = || std::fs::read_to_string(&pids).unwrap_or_default();
    until("it runs", SOON, || async {
        (!lines().is_empty()).then_some(())
    })
    .await;
    hive.restart().await;
    let sent = until_all(&hive, "sent", SOON).await;
    assert_eq!((sent.len(), sent[0].tries), (1, 2));
    let first = lines().lines().next().unwrap().to_owned();
    assert!(!runs(&first), "{first} lives on");
    let document = std::fs::read_to_string(format!("{}.json", pids.display())).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["data"]["id"], sent[0].webhook_id);
}

#[tokio::test]
async fn term_ends_a_hanging_command_and_loses_nothing() {
    let mut hive = setup(Vec::new()).prepare();
    let dir = hive.home();
    let pid = dir.join("pid");
    let text = format!("#!/bin/bash\necho $$ >{}\nexec sleep 3600\n", pid.display());
    let program = script(&dir, &text);
    let command = channel(&format!(
        "kind = \"command\"\nrun = [\"{}\"]\ntimeout_secs = 60",
        program.display()
    ));
    hive.replace_setup(setup(vec![command]));
    hive.start().await;
    make_dead(&mut hive, "bee").await;
    let read = || std::fs::read_to_string(&pid).unwrap_or_default();
    until("it runs", SOON, || async {
        (!read().is_empty()).then_some(())
    })
    .await;
    let ended = hive.terminate().await;
    assert_eq!(ended, hive_tests::daemon::Ended::Code(0));
    assert!(!runs(&read()), "it lives on");
    hive.start().await;
    let all = notifications(&hive).await;
    assert_eq!((all.len(), all[0].state.as_str()), (1, "pending"));
}
