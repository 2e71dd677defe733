//! Starts and restarts that go wrong half-way, with processes that the test takes away.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use hive_proto::v1::{AgentRef, CreateAgentRequest};
use hive_tests::TestHive;
use hive_tests::daemon::send;
use hive_tests::strace::{Attached, Fault, When};
use hive_tests::wait::{SOON, until};
use rustix::process::Signal;

/// What an agent of a hive by hand runs.
fn program(hive: &TestHive) -> PathBuf {
    hive.home().parent().unwrap().join("stub")
}

/// The agent's process as the runtime names it; empty when there is none.
async fn instance(hive: &TestHive, name: &str) -> String {
    let name = name.to_owned();
    let agent = hive.operator().get_agent(AgentRef { name }).await.unwrap();
    agent.into_inner().runtime_id
}

fn pid(instance: &str) -> u32 {
    instance.split(':').next().unwrap().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_fresh_agent_is_starting_from_the_first_moment() {
    let hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "ant", "fly"] {
        let made = hive.hive(&["agent", "create", name, "--json"]).await;
        assert_eq!(made.expect_code(0).json()["state"], "starting");
    }
}

#[tokio::test]
async fn starts_that_fail_leave_one_line_for_the_agent() {
    // Only an engine with a memory is told of a restart.
    let mut hive = TestHive::builder()
        .by_hand()
        .set("runtime.process.trusted", true)
        .start()
        .await;
    let request = CreateAgentRequest {
        name: "bee".to_owned(),
        engine: "claude".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await.unwrap();
    let first = pid(&instance(&hive, "bee").await);
    std::fs::set_permissions(program(&hive), std::fs::Permissions::from_mode(0o644)).unwrap();
    send(first, Signal::KILL);
    hive.until_state("bee", "failed", Duration::from_secs(60))
        .await;
    let mail = hive.mailbox("bee").await;
    let lines: Vec<_> = mail.iter().map(|one| one.from.as_str()).collect();
    assert_eq!(lines, ["system"], "{mail:#?}");
    // Once it was taken the next restart is told again.
    std::fs::set_permissions(program(&hive), std::fs::Permissions::from_mode(0o755)).unwrap();
    hive.hive(&["agent", "start", "bee"]).await.expect_code(0);
    hive.until_started("bee").await;
    let mut session = hive.session("bee").await;
    let taken = session.recv(8, 1_000).await.unwrap();
    assert_eq!(taken.messages.len(), 1);
    session
        .end(taken.turn_id, hive_proto::v1::Outcome::Ok)
        .await
        .unwrap();
    hive.hive(&["agent", "restart", "bee"]).await.expect_code(0);
    until("the next restart is told", SOON, || async {
        (hive.mailbox("bee").await.len() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_restart_that_was_asked_for_outlives_the_broker_and_happens_once() {
    let mut hive = TestHive::builder().by_hand().start().await;
    // It goes on without its broker, as a container does, and looks like a harness to the next one.
    let program_text = "#!/bin/bash\necho 'while :; do sleep 1000; done' >serve\n\
        exec setsid bash serve --child\n";
    std::fs::write(program(&hive), program_text).unwrap();
    hive.create("bee", "").await;
    let first = instance(&hive, "bee").await;
    // hived dies as it is about to stop the process, with the request on disk.
    let broker = hive.daemon().pid();
    let killing = Attached::at(broker, "pidfd_send_signal", Fault::Kill, When::Nth(1)).await;
    hive.hive(&["agent", "restart", "bee"]).await;
    hive.ended(SOON).await;
    drop(killing);
    assert!(is_alive(pid(&first)), "it was stopped before hived died");
    hive.start().await;
    let second = until("it runs anew", SOON, || async {
        let now = instance(&hive, "bee").await;
        (!now.is_empty() && !now.starts_with("new:") && now != first).then_some(now)
    })
    .await;
    assert!(!is_alive(pid(&first)));
    // Nothing is left of the request: the next broker leaves it alone.
    hive.restart().await;
    hive.until_started("bee").await;
    let looked = async || {
        let json = hive.hive(&["status", "--json"]).await.json();
        let all = json["reconcilers"].as_array().unwrap().clone();
        let one = all.iter().find(|one| one["name"] == "containers").cloned();
        one.unwrap()["last_run_at"].clone()
    };
    let before = looked().await;
    until("it was looked at again", SOON, || async {
        (looked().await != before).then_some(())
    })
    .await;
    assert_eq!(instance(&hive, "bee").await, second);
}
