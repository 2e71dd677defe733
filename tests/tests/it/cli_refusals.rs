//! The commands against what is not there, not allowed or wrong: exit code, one line, a hint.

use hive_tests::TestHive;
use hive_tests::command::Ran;
use hive_tests::wait::SOON;

/// One `error:` line, and nothing on stdout.
#[track_caller]
fn refused(ran: Ran, code: i32) -> String {
    let ran = ran.expect_code(code);
    let errors = ran.stderr.lines().filter(|l| l.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    ran.stderr
}

#[tokio::test]
async fn without_a_daemon_the_exit_code_is_5() {
    let hive = TestHive::builder().prepare();
    let commands: [&[&str]; 12] = [
        &["question", "ls"],
        &["answer", "1", "yes"],
        &["reminder", "ls"],
        &["status"],
        &["agent", "ls"],
        &["agent", "show", "bee"],
        &["send", "bee", "hello"],
        &["inbox"],
        &["dead", "ls"],
        &["watch"],
        &["logs", "bee"],
        &["message", "show", "1"],
    ];
    for command in commands {
        let stderr = refused(hive.hive(command).await, 5);
        assert!(stderr.contains("hint: "), "{command:?}: {stderr}");
        assert!(stderr.contains("operator.sock"), "{command:?}: {stderr}");
    }
    let file = hive.home().join("none.db");
    refused(
        hive.hive(&["backup", "-o", file.to_str().unwrap()]).await,
        5,
    );
    assert!(!file.exists());
    // Nothing to stop is no fault.
    hive.hive(&["down"]).await.expect_code(0);
}

#[tokio::test]
async fn what_is_not_there_is_3() {
    let hive = TestHive::builder().start().await;
    let commands: [&[&str]; 15] = [
        &["question", "show", "999"],
        &["question", "cancel", "999"],
        &["answer", "999", "yes"],
        &["reminder", "ls", "nobody"],
        &["reminder", "rm", "999"],
        &["reminder", "retry", "999"],
        &["agent", "show", "nobody"],
        &["agent", "start", "nobody"],
        &["agent", "stop", "nobody"],
        &["agent", "cancel", "nobody"],
        &["agent", "rm", "nobody"],
        &["send", "nobody", "hello"],
        &["inbox", "nobody"],
        &["message", "show", "999"],
        &["dead", "requeue", "999"],
    ];
    for command in commands {
        refused(hive.hive(command).await, 3);
    }
    refused(hive.hive(&["logs", "nobody"]).await, 3);
}

#[tokio::test]
async fn wrong_usage_is_2() {
    let hive = TestHive::builder().start().await;
    let commands: [&[&str]; 8] = [
        &["agent", "create", "../x"],
        &["agent", "create", "operator"],
        &["agent", "create", "bee", "--engine", "gpt"],
        &["agent", "create", "bee", "--role", "king"],
        &["send", "B", "hello"],
        &["send", "*", "hello", "--wait"],
        &["send", "bee"],
        &["frobnicate"],
    ];
    for command in commands {
        let ran = hive.hive(command).await.expect_code(2);
        assert!(ran.stderr.starts_with("error: "), "{command:?}: {ran:?}");
    }
    let big = "x".repeat(1024 * 1024 + 1);
    refused(hive.hive_with(&["send", "bee", "-"], Some(&big)).await, 2);
}

#[tokio::test]
async fn a_state_that_does_not_allow_it_is_4() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    refused(hive.hive(&["agent", "create", "bee"]).await, 4);
    refused(hive.hive(&["agent", "cancel", "bee"]).await, 4);
    let ran = hive.hive(&["agent", "rm", "bee", "--purge"]).await;
    // Nobody is there to be asked.
    assert!(refused(ran, 2).contains("--yes"));
}

#[tokio::test]
async fn beside_an_agent_the_operators_commands_are_4() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let commands: [&[&str]; 24] = [
        &["question", "ls"],
        &["question", "show", "1"],
        &["question", "cancel", "1"],
        &["answer", "1", "yes"],
        &["reminder", "ls"],
        &["reminder", "rm", "1"],
        &["reminder", "retry", "1"],
        &["up"],
        &["down"],
        &["doctor"],
        &["status"],
        &["agent", "ls"],
        &["agent", "create", "evil"],
        &["agent", "stop", "bee"],
        &["agent", "rm", "bee", "--purge", "--yes"],
        &["inbox", "bee"],
        &["message", "show", "1"],
        &["dead", "ls"],
        &["dead", "requeue", "1"],
        &["logs", "bee"],
        &["watch"],
        &["backup", "-o", "/tmp/hive-stolen.db"],
        &["restore", "/etc/passwd"],
        &["send", "operator", "hello", "--wait"],
    ];
    for command in commands {
        refused(hive.hive_as("bee", command).await, 4);
    }
    // And on the operator's socket what is the agent's.
    let wake = ["wake", "--from", "cron", "--body", "tick"];
    refused(hive.hive(&wake).await, 4);
}
