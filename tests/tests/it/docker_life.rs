//! Agents in containers: they outlive the broker, and what is shown is what is.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hive_proto::v1::{AgentRef, Outcome};
use hive_tests::docker::{docker, inspect, shell};
use hive_tests::mail::attempt;
use hive_tests::proxy::Proxy;
use hive_tests::wait::{SOON, pass, stays, until};
use hive_tests::{Runtime, TestHive};

use crate::first_message::ECHO;
use crate::kills::{HELD, open_gate, started};

/// What a container needs to start on a busy machine.
pub const START: Duration = Duration::from_secs(60);
/// How old the truth may be.
const TRUTH: Duration = Duration::from_secs(2);

async fn in_docker(script: &str) -> (TestHive, String) {
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(script)
        .start()
        .await;
    let name = hive.unique("bee");
    hive.create(&name, "").await;
    hive.until_state(&name, "idle", START).await;
    (hive, name)
}

/// What changes when a container is made or started anew.
pub fn identity(hive: &TestHive, name: &str) -> String {
    inspect(
        &hive.container(name),
        "{{.Id}} {{.State.StartedAt}} {{.State.Pid}}",
    )
}

/// The engine's socket.
pub fn engine_socket() -> PathBuf {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    PathBuf::from(
        host.strip_prefix("unix://")
            .unwrap_or("/var/run/docker.sock"),
    )
}

#[tokio::test]
async fn a_message_is_answered_from_a_container() {
    let (hive, name) = in_docker(ECHO).await;
    for n in 0..10 {
        let id = hive.send(&name, &format!("message {n}")).await;
        assert_eq!(
            hive.answer(id, SOON).await.body,
            format!("echo: message {n}")
        );
    }
    assert_eq!(hive.mailbox("").await.len(), 10);
}

#[tokio::test]
async fn a_turn_outlives_a_killed_broker() {
    let (mut hive, name) = in_docker(HELD).await;
    let before = identity(&hive, &name);
    let id = hive.send(&name, "hello").await;
    started(&hive, &name, 1).await;
    hive.kill().await;
    // The turn ends while nobody is there to be told.
    open_gate(&hive, &name);
    pass(Duration::from_secs(2)).await;
    hive.start().await;
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    let life = hive.acked(id, SOON).await;
    let outcomes: Vec<Outcome> = life.turns.iter().map(|turn| turn.outcome()).collect();
    assert_eq!(outcomes, [Outcome::Ok]);
    assert_eq!((attempt(&life), life.replies.len()), (0, 1));
    assert_eq!(hive.mailbox("").await.len(), 1);
    assert_eq!(
        identity(&hive, &name),
        before,
        "the container was restarted"
    );
}

#[tokio::test]
async fn a_container_attaches_to_the_next_broker_within_ten_seconds() {
    let (mut hive, name) = in_docker(ECHO).await;
    let before = identity(&hive, &name);
    for round in 0..3 {
        hive.kill().await;
        pass(Duration::from_secs(round)).await;
        hive.start().await;
        hive.until_state(&name, "idle", Duration::from_secs(10))
            .await;
        let id = hive.send(&name, "hello").await;
        assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    }
    assert_eq!(
        identity(&hive, &name),
        before,
        "the container was restarted"
    );
}

#[tokio::test]
async fn a_harness_killed_in_its_container_is_started_again() {
    let (hive, name) = in_docker(HELD).await;
    let id = hive.send(&name, "hello").await;
    started(&hive, &name, 1).await;
    let (code, said) = shell(
        &hive.container(&name),
        "for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' <$p/cmdline)\" in *'hive serve'*) [ ${p#/proc/} = 1 ] || [ ${p#/proc/} = $$ ] || kill -9 ${p#/proc/};; esac; done",
    );
    assert!(code == 0 || code == 137, "{code}: {said}");
    started(&hive, &name, 2).await;
    open_gate(&hive, &name);
    assert_eq!(hive.answer(id, START).await.body, "echo: hello");
    let life = hive.acked(id, SOON).await;
    assert!(life.message.as_ref().unwrap().redelivered);
    assert_eq!(attempt(&life), 1);
}

#[tokio::test]
async fn a_frozen_and_a_killed_container_are_shown_as_such() {
    let (hive, name) = in_docker(ECHO).await;
    let container = hive.container(&name);

    docker(&["pause", &container]);
    hive.until_state(&name, "unreachable", TRUTH).await;
    docker(&["unpause", &container]);
    hive.until_state(&name, "idle", TRUTH).await;

    docker(&["kill", &container]);
    until("it is not shown as idle", TRUTH, || async {
        let state = hive.state(&name).await;
        ["starting", "failed"]
            .contains(&state.as_str())
            .then_some(())
    })
    .await;
    hive.until_state(&name, "idle", START).await;
}

#[tokio::test]
async fn while_the_engine_is_away_nothing_is_known_and_nothing_is_started() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let proxy = Proxy::start(&folder.path().join("d.sock"), &engine_socket());
    let host = format!("unix://{}", proxy.socket.display());
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(ECHO)
        .env("DOCKER_HOST", &host)
        .start()
        .await;
    let name = hive.unique("bee");
    hive.create(&name, "").await;
    hive.until_state(&name, "idle", START).await;
    let before = identity(&hive, &name);

    proxy.cut();
    hive.until_state(&name, "unknown", Duration::from_secs(10))
        .await;
    // The broker is started while the engine is away, too.
    hive.restart().await;
    let seconds = if std::env::var("HIVE_CRASH").is_ok_and(|word| word == "all") {
        60
    } else {
        8
    };
    stays("unknown", Duration::from_secs(seconds), || async {
        hive.state(&name).await == "unknown"
    })
    .await;
    // Its harness still works: what is unknown is the container, not the session.
    let id = hive.send(&name, "hello").await;
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    proxy.mend();
    hive.until_state(&name, "idle", Duration::from_secs(15))
        .await;
    assert_eq!(identity(&hive, &name), before, "something was started");
    let request = AgentRef { name: name.clone() };
    assert_eq!(
        hive.operator()
            .get_agent(request)
            .await
            .unwrap()
            .into_inner()
            .restarts,
        0
    );
}

/// A turn that does not hear that it is to end, so that a stop takes its whole grace.
const DEAF: &str = r#"
[[rule]]
steps = [{ shell = "echo turn >>started; trap '' TERM INT HUP; while :; do sleep 0.1; done" }]
"#;

#[tokio::test]
async fn an_engine_that_hangs_in_the_middle_of_a_stop_is_unknown() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let proxy = Proxy::start(&folder.path().join("d.sock"), &engine_socket());
    let host = format!("unix://{}", proxy.socket.display());
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(DEAF)
        .env("DOCKER_HOST", &host)
        .start()
        .await;
    let name = hive.unique("bee");
    hive.create(&name, "").await;
    hive.until_state(&name, "idle", START).await;
    hive.send(&name, "hello").await;
    started(&hive, &name, 1).await;

    hive.hive(&["agent", "stop", &name]).await.expect_code(0);
    hive.until_state(&name, "stopping", TRUTH).await;
    proxy.hang();
    // By now the engine has ended it; hive cannot know.
    hive.until_state(&name, "unknown", Duration::from_secs(10))
        .await;
    stays("unknown", Duration::from_secs(4), || async {
        hive.state(&name).await == "unknown"
    })
    .await;
    proxy.mend();
    hive.until_state(&name, "stopped", START).await;
    // It was told to end, so it has not died.
    let request = AgentRef { name: name.clone() };
    let agent = hive.operator().get_agent(request).await.unwrap();
    assert_eq!(agent.into_inner().restarts, 0);
    let mailbox = hive.mailbox(&name).await;
    assert_eq!((mailbox.len(), mailbox[0].attempt), (1, 0));
}

#[tokio::test]
async fn a_container_that_a_restored_backup_does_not_know_is_ended_and_told() {
    let (mut hive, old) = in_docker(ECHO).await;
    let file = hive.home().with_file_name("before.db");
    let path = file.to_str().unwrap().to_owned();
    hive.hive(&["backup", "-o", &path]).await.expect_code(0);
    let late = hive.unique("late");
    hive.create(&late, "").await;
    hive.until_state(&late, "idle", START).await;
    let before = identity(&hive, &old);

    // Containers go on while the daemon is away.
    hive.terminate().await;
    hive.hive(&["restore", "--force", &path])
        .await
        .expect_code(0);
    hive.start().await;
    let event = hive
        .event(0, "it is told", SOON, |event| {
            event.kind == "agent.orphan_ended"
        })
        .await;
    assert!(event.data_json.contains(&late), "{event:?}");
    let container = hive.container(&late);
    until("its container is gone", START, || {
        let left = docker(&["ps", "-aq", "--filter", &format!("name={container}")]);
        std::future::ready(left.is_empty().then_some(()))
    })
    .await;
    let status = hive.hive(&["status"]).await.expect_code(0);
    assert!(
        status.stdout.contains("unread message from system"),
        "{}",
        status.stdout
    );
    let told = hive.mailbox("").await;
    assert!(
        told.iter()
            .any(|mail| mail.from == "system" && mail.body.contains(&late)),
        "{told:#?}"
    );
    // The one that the backup knows goes on.
    hive.until_state(&old, "idle", START).await;
    assert_eq!(identity(&hive, &old), before);
}

#[tokio::test]
async fn a_stop_ends_everything_and_a_removal_leaves_nothing() {
    let (hive, name) = in_docker(HELD).await;
    hive.send(&name, "hello").await;
    started(&hive, &name, 1).await;
    let start = Instant::now();
    hive.hive(&["agent", "stop", &name]).await.expect_code(0);
    hive.until_state(&name, "stopped", SOON).await;
    assert!(start.elapsed() < Duration::from_secs(25));
    // Again: nothing to do, no complaint.
    hive.hive(&["agent", "stop", &name]).await.expect_code(0);
    hive.hive(&["agent", "rm", &name]).await.expect_code(0);
    let left = || {
        docker(&[
            "ps",
            "-aq",
            "--filter",
            &format!("name={}", hive.container(&name)),
        ])
    };
    until("the container is gone", SOON, || {
        std::future::ready(left().is_empty().then_some(()))
    })
    .await;
    until("its sockets are gone", SOON, || {
        std::future::ready((!hive.agent_sockets(&name).join("broker.sock").exists()).then_some(()))
    })
    .await;
}
