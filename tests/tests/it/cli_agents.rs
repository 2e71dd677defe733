//! `hive agent …`, `status`, `logs`, `watch` and `doctor` on a whole hive.

use std::process::Stdio;
use std::time::Duration;

use hive_tests::TestHive;
use hive_tests::programs;
use hive_tests::wait::{SOON, until};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

#[tokio::test]
async fn an_agent_is_made_shown_stopped_started_and_removed() {
    let hive = TestHive::builder().start().await;
    let made = hive.hive(&["agent", "create", "bee", "--json"]).await;
    assert_eq!(made.expect_code(0).json()["name"], "bee");
    hive.until_state("bee", "idle", SOON).await;

    let list = hive.hive(&["agent", "ls"]).await.expect_code(0).stdout;
    assert!(list.starts_with("NAME"), "{list}");
    assert!(list.contains("bee") && list.contains("idle"), "{list}");
    let json = hive.hive(&["agent", "ls", "--json"]).await.json();
    let keys = [
        "name",
        "role",
        "parent",
        "state",
        "state_since",
        "engine",
        "model",
        "image",
        "unread",
        "turns",
        "cost_today_usd",
        "status_text",
        "config_sha",
    ];
    for key in keys {
        assert!(json[0].get(key).is_some(), "no {key} in {json}");
    }
    let shown = hive.hive(&["agent", "show", "bee"]).await.expect_code(0);
    assert!(shown.stdout.contains("desired"), "{}", shown.stdout);

    for (act, state) in [
        ("pause", "paused"),
        ("resume", "idle"),
        ("stop", "stopped"),
        ("start", "idle"),
        ("restart", "idle"),
    ] {
        hive.hive(&["agent", act, "bee"]).await.expect_code(0);
        hive.until_state("bee", state, SOON).await;
    }
    let rm = ["agent", "rm", "bee", "--purge", "--yes"];
    hive.hive(&rm).await.expect_code(0);
    until("the agent is gone", SOON, || async {
        let list = hive.hive(&["agent", "ls", "--json"]).await.json();
        (list == serde_json::json!([])).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_directory_gives_an_agent_its_texts() {
    let hive = TestHive::builder().start().await;
    let dir = hive.home().join("bee.d");
    std::fs::create_dir(&dir).unwrap();
    let script =
        "[[rule]]\nsteps = [{ tool = \"send\", args = { to = \"operator\", body = \"mine\" } }]";
    std::fs::write(dir.join("script.toml"), script).unwrap();
    let dir = dir.to_str().unwrap();
    let create = [
        "agent", "create", "bee", "--engine", "scripted", "--from", dir,
    ];
    hive.hive(&create).await.expect_code(0);
    let ran = hive.hive(&["send", "bee", "hello", "--wait"]).await;
    assert_eq!(ran.expect_code(0).stdout, "mine\n");
}

#[tokio::test]
async fn the_status_names_store_runtime_and_reconcilers() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let json = hive.hive(&["status", "--json"]).await.expect_code(0).json();
    let keys = [
        "version",
        "home",
        "store",
        "runtime",
        "uptime_seconds",
        "agents",
        "waiting",
        "reconcilers",
    ];
    for key in keys {
        assert!(json.get(key).is_some(), "no {key} in {json}");
    }
    assert_eq!(json["runtime"], "process");
    assert_eq!(json["unisolated"], true);
    assert_eq!(json["agents"]["idle"], 1);
    assert!(
        json["reconcilers"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    );
    let text = hive.hive(&["status"]).await.expect_code(0).stdout;
    assert!(text.contains("without isolation"), "{text}");
}

#[tokio::test]
async fn the_harnesss_log_is_printed() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    until("the log has a line", SOON, || async {
        let logs = hive.hive(&["logs", "bee", "-n", "5"]).await.expect_code(0);
        (!logs.stdout.is_empty()).then_some(())
    })
    .await;
}

/// A running `hive watch`.
struct Watch {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(hive: &TestHive, args: &[&str]) -> Self {
        let mut child = Command::new(programs::hive())
            .arg("watch")
            .args(args)
            .env_remove("HIVE_SOCKET")
            .env("HIVE_HOME", hive.home())
            .env("HIVE_RUN", hive.run_dir())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            _child: child,
            lines,
        }
    }

    /// Events until one of this kind, all of them.
    async fn until(&mut self, kind: &str) -> Vec<serde_json::Value> {
        let mut seen = Vec::new();
        let read = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                let event: serde_json::Value = serde_json::from_str(&line).unwrap();
                let found = event["kind"] == kind;
                seen.push(event);
                if found {
                    return;
                }
            }
            panic!("hive watch ended before {kind}");
        };
        tokio::time::timeout(Duration::from_secs(30), read)
            .await
            .unwrap_or_else(|_| panic!("no {kind}"));
        seen
    }
}

#[tokio::test]
async fn a_watch_goes_on_after_a_restart_without_a_gap() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let mut watch = Watch::start(&hive, &["--since", "0", "--json"]);
    let mut seen = watch.until("session.opened").await;
    let first = hive.send("bee", "one").await;
    hive.acked(first, SOON).await;
    hive.restart().await;
    let second = hive.send("bee", "two").await;
    hive.acked(second, SOON).await;
    while !seen
        .iter()
        .any(|event| event["kind"] == "message.acked" && event["data"]["id"] == second)
    {
        seen.extend(watch.until("message.acked").await);
    }
    let seqs: Vec<i64> = seen.iter().map(|e| e["seq"].as_i64().unwrap()).collect();
    let expected: Vec<i64> = (seqs[0]..).take(seqs.len()).collect();
    assert_eq!(seqs, expected, "a gap or a repetition");
}

#[tokio::test]
async fn a_watch_of_one_agent_shows_no_other() {
    let mut hive = TestHive::builder().start().await;
    hive.create("bee", "").await;
    hive.create("wasp", "").await;
    hive.until_state("bee", "idle", SOON).await;
    hive.until_state("wasp", "idle", SOON).await;
    let mut watch = Watch::start(&hive, &["wasp", "--since", "0", "--json"]);
    let seen = watch.until("session.opened").await;
    assert!(
        seen.iter().all(|event| event["agent"] == "wasp"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn the_doctor_finds_a_working_hive_and_a_missing_one() {
    let mut hive = TestHive::builder().start().await;
    let json = hive.hive(&["doctor", "--json"]).await.expect_code(0).json();
    assert_eq!(json["ok"], true);
    let verdict = |json: &serde_json::Value, name: &str| {
        let checks = json["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {json}"))["verdict"].clone()
    };
    for name in [
        "data directory",
        "socket directory",
        "clock",
        "hived",
        "database",
        "sockets",
    ] {
        assert_eq!(verdict(&json, name), "ok", "{name} in {json}");
    }
    hive.terminate().await;
    let ran = hive.hive(&["doctor", "--json"]).await.expect_code(1);
    assert_eq!(verdict(&ran.json(), "hived"), "fail");
    let text = hive.hive(&["doctor"]).await.expect_code(1).stdout;
    assert!(text.contains("→ "), "{text}");
}
