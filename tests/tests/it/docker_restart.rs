//! The container engine itself is restarted or killed under a live agent.

use std::time::Duration;

use hive_proto::v1::AgentRef;
use hive_tests::engine::Engine;
use hive_tests::wait::{SOON, until};
use hive_tests::{Runtime, TestHive};
use rustix::process::Signal;

use crate::docker_life::START;
use crate::kills::{HELD, open_gate, started};

/// A hive on an engine of its own, with one agent in a turn.
async fn in_a_turn(live_restore: bool) -> (TestHive, Engine, String, i64) {
    let engine = Engine::start(live_restore).await;
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(HELD)
        .env("DOCKER_HOST", &engine.host())
        .start()
        .await;
    let name = hive.unique("bee");
    hive.create(&name, "").await;
    hive.until_state(&name, "idle", START).await;
    let id = hive.send(&name, "hello").await;
    started(&hive, &name, 1).await;
    (hive, engine, name, id)
}

fn identity(engine: &Engine, hive: &TestHive, name: &str) -> String {
    let format = "{{.Id}} {{.State.StartedAt}} {{.State.Pid}}";
    engine
        .docker(&["inspect", "--format", format, &hive.container(name)])
        .1
}

fn containers(engine: &Engine) -> usize {
    engine.docker(&["ps", "-aq"]).1.lines().count()
}

async fn restarts(hive: &TestHive, name: &str) -> u32 {
    let name = name.to_owned();
    let agent = hive.operator().get_agent(AgentRef { name }).await;
    agent.unwrap().into_inner().restarts
}

#[tokio::test]
async fn docker_restarted_around_living_containers_changes_nothing() {
    let (hive, mut engine, name, id) = in_a_turn(true).await;
    let before = identity(&engine, &hive, &name);
    for signal in [Signal::TERM, Signal::KILL] {
        engine.restart(signal).await;
        hive.until_state(&name, "thinking", SOON).await;
        assert_eq!(identity(&engine, &hive, &name), before, "{signal:?}");
    }
    open_gate(&hive, &name);
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    let life = hive.acked(id, SOON).await;
    assert_eq!((life.turns.len(), life.replies.len()), (1, 1));
    assert_eq!((restarts(&hive, &name).await, containers(&engine)), (0, 1));
}

#[tokio::test]
async fn docker_restarted_with_its_containers_starts_each_once_again() {
    let (hive, mut engine, name, id) = in_a_turn(false).await;
    for (turn, signal) in [(2, Signal::TERM), (3, Signal::KILL)] {
        let before = identity(&engine, &hive, &name);
        engine.restart(signal).await;
        started(&hive, &name, turn).await;
        let after = identity(&engine, &hive, &name);
        assert_ne!(after, before, "{signal:?}");
        assert_eq!(
            after.split(' ').next(),
            before.split(' ').next(),
            "{signal:?}: made anew"
        );
        assert_eq!(containers(&engine), 1, "{signal:?}");
        // What ended with its engine was not its own fault.
        assert_eq!(restarts(&hive, &name).await, 0, "{signal:?}");
    }
    open_gate(&hive, &name);
    assert_eq!(
        hive.answer(id, Duration::from_secs(60)).await.body,
        "echo: hello"
    );
    let life = hive.acked(id, SOON).await;
    assert_eq!((life.turns.len(), life.replies.len()), (3, 1));
    until("it is idle", START, || async {
        (hive.state(&name).await == "idle").then_some(())
    })
    .await;
    // What ended with its engine was not its own fault.
    assert_eq!(restarts(&hive, &name).await, 0);
}
