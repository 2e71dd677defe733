//! Schedules by the clock, as `hive schedule show --json` tells them: days on which clocks change, a
//! broker that is down, edits while it fires, a target that was taken out.

use hive_tests::TestHive;
use hive_tests::clocked::ClockedHive;

/// (slot, target, state, reason) of every occurrence.
async fn rows(hive: &TestHive, id: &str) -> Vec<String> {
    let shown = hive.hive(&["schedule", "show", id, "--json"]).await;
    let shown = shown.expect_code(0).json();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    shown["occurrences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert_eq!(row["state"] == "fired", row["message"].is_i64(), "{row}");
            let slot = word(&row["slot"]).replace(":00.000Z", "Z");
            format!(
                "{slot} {} {}: {}",
                word(&row["target"]),
                word(&row["state"]),
                word(&row["reason"])
            )
        })
        .collect()
}

async fn run(hive: &TestHive, args: &[&str]) {
    hive.hive(args).await.expect_code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_occurrence_has_one_row_with_its_reason() {
    let mut clocked =
        ClockedHive::start(TestHive::builder().by_hand(), "2027-03-26T12:00:00Z").await;
    for name in ["ant", "bee"] {
        clocked.hive.create(name, "").await;
    }
    let create = [
        "schedule",
        "create",
        "--to",
        "ant,bee",
        "--body",
        "look",
        "--cron",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
    ];
    run(&clocked.hive, &create).await;
    clocked.at("2027-03-27T01:30:05Z").await;
    run(&clocked.hive, &["schedule", "rm", "1", "--to", "bee"]).await;
    // The night in which 02:30 does not exist.
    clocked.at("2027-03-28T01:00:05Z").await;
    clocked.at("2027-03-28T01:30:05Z").await;
    // Down over three.
    clocked.stop().await;
    clocked.set("2027-03-31T12:00:00Z");
    clocked.resume().await;
    clocked.settle().await;
    // The night in which 02:30 exists twice.
    let next = ["schedule", "edit", "1", "--next", "2027-10-30T00:30:00Z"];
    run(&clocked.hive, &next).await;
    for now in [
        "2027-10-30T00:30:05Z",
        "2027-10-31T00:30:05Z",
        "2027-10-31T01:30:05Z",
        "2027-11-01T01:30:05Z",
    ] {
        clocked.at(now).await;
    }
    let missed = "skipped: missed while down";
    assert_eq!(
        rows(&clocked.hive, "1").await,
        [
            "2027-03-27T01:30Z ant fired: -".to_owned(),
            "2027-03-27T01:30Z bee fired: -".to_owned(),
            "2027-03-28T01:00Z ant fired: -".to_owned(),
            "2027-03-28T01:00Z bee skipped: target removed".to_owned(),
            format!("2027-03-29T00:30Z ant {missed}"),
            format!("2027-03-30T00:30Z ant {missed}"),
            "2027-03-31T00:30Z ant fired: late: it stands for those that were missed".to_owned(),
            "2027-10-30T00:30Z ant fired: -".to_owned(),
            "2027-10-31T00:30Z ant fired: -".to_owned(),
            "2027-11-01T01:30Z ant fired: -".to_owned(),
        ]
    );
    let mail = clocked.hive.mailbox("ant").await;
    assert_eq!(mail.len(), 6);
    assert!(mail.iter().all(|message| message.from == "operator"));
    clocked.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_while_it_fires_leaves_each_slot_one_version() {
    let mut clocked =
        ClockedHive::start(TestHive::builder().by_hand(), "2027-01-01T00:00:00Z").await;
    clocked.hive.create("ant", "").await;
    let create = [
        "schedule",
        "create",
        "--to",
        "ant",
        "--body",
        "v0",
        "--every",
        "1m",
        "--at",
        "2027-01-01T00:01:00Z",
    ];
    run(&clocked.hive, &create).await;
    for n in 1..6 {
        let body = format!("v{n}");
        let edit = ["schedule", "edit", "1", "--body", &body];
        let now = format!("2027-01-01T00:0{n}:01Z");
        tokio::join!(clocked.at(&now), run(&clocked.hive, &edit));
        clocked.settle().await;
    }
    assert_eq!(rows(&clocked.hive, "1").await.len(), 5);
    let mail = clocked.hive.mailbox("ant").await;
    let bodies: Vec<&str> = mail.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies.len(), 5);
    for (n, body) in (1..).zip(bodies) {
        let versions = [format!("v{}", n - 1), format!("v{n}")];
        assert!(
            versions.iter().any(|version| version == body),
            "slot {n}: {body}"
        );
    }
    clocked.stop().await;
}
