//! Removing an agent with everything it has: its mail, its files, its name.

use std::path::{Path, PathBuf};

use hive_proto::v1::{MessageState, RemoveAgentRequest};
use hive_tests::TestHive;
use hive_tests::mail::state;
use hive_tests::strace::{Attached, Fault, When};
use hive_tests::wait::{SOON, until};

/// Removes an agent with all that it has.
async fn purge(hive: &TestHive, name: &str) {
    let request = RemoveAgentRequest {
        name: name.to_owned(),
        purge: true,
    };
    hive.operator().remove_agent(request).await.unwrap();
}

#[tokio::test]
async fn the_mail_of_a_purged_agent_is_dead_and_its_senders_know() {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "ant"] {
        hive.create(name, "").await;
    }
    let mut ant = hive.session("ant").await;
    let mut bee = hive.session("bee").await;
    let taken = ant.send("bee", "taken", "").await.unwrap().id;
    assert_eq!(bee.recv(1, 1_000).await.unwrap().messages[0].id, taken);
    let second = ant.send("bee", "second", "").await.unwrap().id;
    let asked = hive.send("bee", "asked").await;
    purge(&hive, "bee").await;
    for id in [taken, second, asked] {
        let life = hive.life(id).await;
        assert_eq!(state(&life), MessageState::Dead, "{life:#?}");
        assert_eq!(life.message.unwrap().result, "recipient purged");
        // Nobody is left to run it.
        let ran = hive.hive(&["dead", "requeue", &id.to_string()]).await;
        let said = ran.expect_code(4).stderr;
        assert!(said.contains("purged"), "{said}");
    }
    // One notice each: the sender's names its two messages, the operator's all three.
    let told = ant.recv(8, 1_000).await.unwrap().messages;
    assert_eq!(told.len(), 1, "{told:?}");
    let body = &told[0].body;
    assert!(
        body.contains("bee") && body.contains("2 messages"),
        "{body}"
    );
    let told = hive.mailbox("").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let body = &told[0].body;
    assert!(
        body.contains("3 messages") && body.contains("2 from ant"),
        "{body}"
    );
    // A question that waits for an answer ends, and what is dead for good waits for nobody.
    let json = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let waiting = json["waiting"].as_array().unwrap();
    assert!(waiting.iter().all(|one| one["kind"] == "message"), "{json}");
}

/// A file of the agent's own, in a directory of its own.
fn leave_a_file(hive: &TestHive, name: &str) -> PathBuf {
    let home = hive.home().join("agents").join(name);
    std::fs::create_dir_all(home.join("state/deep")).unwrap();
    std::fs::write(home.join("state/deep/note"), "mine").unwrap();
    home
}

async fn until_gone(path: &Path) {
    until("the agent's files are gone", SOON, || {
        std::future::ready((!path.exists()).then_some(()))
    })
    .await;
}

#[tokio::test]
async fn a_purge_that_cannot_delete_says_so_and_is_finished_by_the_next_broker() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let home = leave_a_file(&hive, "bee");
    let pid = hive.daemon().pid();
    let failing = Attached::failing(pid, "unlinkat", "EPERM").await;
    let rm = ["agent", "rm", "bee", "--purge", "--yes"];
    let said = hive.hive(&rm).await.expect_code(1).stderr;
    assert!(said.contains("agents/bee"), "{said}");
    // The name is nobody's until the files are gone.
    let ran = hive.hive(&["agent", "create", "bee"]).await.expect_code(4);
    let said = ran.stderr;
    assert!(
        said.contains("purged") && said.contains("hive status"),
        "{said}"
    );
    let json = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let waiting = json["waiting"].as_array().unwrap();
    let stuck = waiting.iter().find(|one| one["kind"] == "purge").unwrap();
    assert_eq!(stuck["agent"], "bee", "{json}");
    hive.event(0, "the purge has failed", SOON, |event| {
        event.kind == "agent.purge_failed" && event.agent == "bee"
    })
    .await;
    assert!(home.join("state/deep/note").exists());

    hive.kill().await;
    drop(failing);
    hive.start().await;
    until_gone(&home).await;
    hive.event(0, "the purge is done", SOON, |event| {
        event.kind == "agent.purged"
    })
    .await;
    hive.create("bee", "").await;
    let json = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    assert_eq!(json["waiting"], serde_json::json!([]), "{json}");
}

#[tokio::test]
async fn a_purge_that_is_in_the_way_of_nothing_any_more_goes_on_by_itself() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let home = leave_a_file(&hive, "bee");
    let pid = hive.daemon().pid();
    let failing = Attached::failing(pid, "unlinkat", "EBUSY").await;
    let rm = ["agent", "rm", "bee", "--purge", "--yes"];
    hive.hive(&rm).await.expect_code(1);
    drop(failing);
    until_gone(&home).await;
    hive.event(0, "the purge is done", SOON, |event| {
        event.kind == "agent.purged"
    })
    .await;
    hive.create("bee", "").await;
}

#[tokio::test]
async fn crash_in_the_middle_of_a_purge_is_made_good_at_the_next_start() {
    // Killed before the first file goes, and at the last directory.
    for nth in [1, 4] {
        let mut hive = TestHive::builder().by_hand().start().await;
        hive.create("bee", "").await;
        let home = leave_a_file(&hive, "bee");
        let pid = hive.daemon().pid();
        let killing = Attached::at(pid, "unlinkat", Fault::Kill, When::Nth(nth)).await;
        let rm = ["agent", "rm", "bee", "--purge", "--yes"];
        assert_ne!(hive.hive(&rm).await.code, 0);
        hive.ended(SOON).await;
        drop(killing);
        assert!(home.exists());
        hive.start().await;
        until_gone(&home).await;
        hive.event(0, "the purge is done", SOON, |event| {
            event.kind == "agent.purged"
        })
        .await;
        hive.create("bee", "").await;
        assert!(!home.join("state/deep").exists());
    }
}
