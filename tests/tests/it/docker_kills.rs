//! `hived` killed between what it asks of the engine and what it records of the answer: the next one finds
//! what is, finishes what was begun, and makes nothing twice.

use std::time::Duration;

use hive_proto::v1::AgentRef;
use hive_tests::docker::{docker, inspect};
use hive_tests::proxy::{Moment, Proxy};
use hive_tests::wait::{SOON, until};
use hive_tests::{Runtime, TestHive};

use crate::docker_life::{START, engine_socket, identity};
use crate::first_message::ECHO;

/// A hive whose way to the engine can be cut off at one request.
async fn behind_a_proxy() -> (TestHive, Proxy, tempfile::TempDir) {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let proxy = Proxy::start(&folder.path().join("d.sock"), &engine_socket());
    let host = format!("unix://{}", proxy.socket.display());
    let hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(ECHO)
        .env("DOCKER_HOST", &host)
        .start()
        .await;
    (hive, proxy, folder)
}

/// Runs `hive` with these arguments until the request is stopped, and kills `hived` there and then.
async fn kill_at(
    hive: &mut TestHive,
    proxy: &Proxy,
    args: &[&str],
    request: (&'static str, &'static str),
    moment: Moment,
) {
    let caught = proxy.catch(request.0, request.1, moment);
    {
        // The command cannot be answered; it may not even have been waiting for this.
        let command = hive.hive(args);
        let stopped = async { tokio::time::timeout(START, caught).await };
        tokio::pin!(command, stopped);
        let stopped = tokio::select! {
            stopped = &mut stopped => stopped,
            _ = &mut command => stopped.await,
        };
        stopped
            .unwrap_or_else(|_| panic!("{request:?} was not asked"))
            .unwrap();
    }
    hive.kill().await;
}

/// Ids of every container of this name, running or not.
fn containers(hive: &TestHive, name: &str) -> Vec<String> {
    let filter = format!("name=^/{}$", hive.container(name));
    let ids = docker(&["ps", "-aq", "--no-trunc", "--filter", &filter]);
    ids.lines().map(str::to_owned).collect()
}

async fn restarts(hive: &TestHive, name: &str) -> u32 {
    let request = AgentRef {
        name: name.to_owned(),
    };
    let agent = hive.operator().get_agent(request).await;
    agent.unwrap().into_inner().restarts
}

#[tokio::test]
async fn killed_while_a_container_is_made_or_started_the_next_broker_adopts_it() {
    let (mut hive, proxy, _folder) = behind_a_proxy().await;
    let points = [
        ("asked-create", "/containers/create", Moment::Asked),
        ("made", "/containers/create", Moment::Answered),
        ("asked-start", "/start", Moment::Asked),
        ("runs", "/start", Moment::Answered),
    ];
    for (what, path, moment) in points {
        let name = hive.unique(what);
        hive.remember(&name);
        let args = ["agent", "create", &name, "--engine", "scripted"];
        kill_at(&mut hive, &proxy, &args, ("POST", path), moment).await;
        let before = containers(&hive, &name);
        let made = (path, moment) != ("/containers/create", Moment::Asked);
        assert_eq!(before.len(), usize::from(made), "{what}");
        let was = made.then(|| identity(&hive, &name));
        hive.start().await;
        hive.until_state(&name, "idle", START).await;
        let after = containers(&hive, &name);
        assert_eq!(after.len(), 1, "{what}");
        if made {
            assert_eq!(after, before, "{what}: it was made again");
        }
        if (path, moment) == ("/start", Moment::Answered) {
            assert_eq!(
                Some(identity(&hive, &name)),
                was,
                "{what}: it was started again"
            );
        }
        assert_eq!(restarts(&hive, &name).await, 0, "{what}");
        let id = hive.send(&name, "hello").await;
        assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
        assert_eq!(hive.acked(id, SOON).await.turns.len(), 1, "{what}");
    }
}

#[tokio::test]
async fn killed_while_a_container_is_stopped_the_next_broker_finishes_it() {
    let (mut hive, proxy, _folder) = behind_a_proxy().await;
    for (what, moment) in [("asked-stop", Moment::Asked), ("ended", Moment::Answered)] {
        let name = hive.unique(what);
        hive.create(&name, "").await;
        hive.until_state(&name, "idle", START).await;
        let args = ["agent", "stop", &name];
        kill_at(&mut hive, &proxy, &args, ("POST", "/stop"), moment).await;
        hive.start().await;
        hive.until_state(&name, "stopped", START).await;
        let running = inspect(&hive.container(&name), "{{.State.Running}}");
        assert_eq!(running, "false", "{what}");
        let socket = hive.agent_sockets(&name).join("broker.sock");
        until("its sockets are gone", SOON, || {
            std::future::ready((!socket.exists()).then_some(()))
        })
        .await;
        // Stopped, not broken.
        hive.hive(&["agent", "start", &name]).await.expect_code(0);
        hive.until_state(&name, "idle", START).await;
        assert_eq!(containers(&hive, &name).len(), 1, "{what}");
    }
}

#[tokio::test]
async fn killed_while_a_container_is_removed_the_next_broker_finishes_it() {
    let (mut hive, proxy, _folder) = behind_a_proxy().await;
    for (what, moment) in [("asked-rm", Moment::Asked), ("gone", Moment::Answered)] {
        let name = hive.unique(what);
        hive.create(&name, "").await;
        hive.until_state(&name, "idle", START).await;
        hive.hive(&["agent", "stop", &name]).await.expect_code(0);
        hive.until_state(&name, "stopped", START).await;
        let args = ["agent", "rm", &name];
        kill_at(&mut hive, &proxy, &args, ("DELETE", "/containers/"), moment).await;
        hive.start().await;
        until("the container is gone", Duration::from_secs(30), || {
            std::future::ready(containers(&hive, &name).is_empty().then_some(()))
        })
        .await;
        let sockets = hive.agent_sockets(&name);
        until("its sockets are gone", SOON, || {
            std::future::ready((!sockets.exists()).then_some(()))
        })
        .await;
        // The name is free, and nothing of the old one comes back.
        hive.create(&name, "").await;
        hive.until_state(&name, "idle", START).await;
        assert_eq!(containers(&hive, &name).len(), 1, "{what}");
    }
}
