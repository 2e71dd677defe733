//! `hive up` on a machine that never saw a hive, `hive down`, and up again.

use hive_tests::TestHive;

/// A place without a hive; the port is any free one.
fn place() -> TestHive {
    TestHive::builder()
        .set("listen", "127.0.0.1:0")
        .set("runtime.kind", "process")
        .prepare()
}

#[tokio::test]
async fn a_stranger_sees_a_picnic_planned() {
    let hive = place();
    let up = hive.hive(&["up", "--runtime", "process"]).await;
    let up = up.expect_code(0);
    assert!(up.stderr.contains("NO ISOLATION"), "{up:?}");
    assert!(up.stdout.contains("hive send manager"), "{up:?}");
    let list = hive.hive(&["agent", "ls", "--json"]).await.json();
    assert_eq!(list.as_array().unwrap().len(), 3, "{list}");
    let plan = hive.hive(&["send", "manager", "plan a picnic", "--wait"]);
    let plan = plan.await.expect_code(0).stdout;
    assert!(plan.contains("quiche") && plan.contains("meadow"), "{plan}");

    let again = hive.hive(&["up"]).await.expect_code(0);
    assert!(again.stdout.contains("up already"), "{again:?}");
    let docker = hive.hive(&["up", "--runtime", "docker"]).await;
    docker.expect_code(4);
    let claude = hive.hive(&["up", "--engine", "claude"]).await;
    claude.expect_code(1);

    hive.hive(&["down"]).await.expect_code(0);
    hive.hive(&["status"]).await.expect_code(5);
    hive.hive(&["down"]).await.expect_code(0);
    hive.hive(&["up"]).await.expect_code(0);
    let list = hive.hive(&["agent", "ls", "--json"]).await.json();
    assert_eq!(list.as_array().unwrap().len(), 3, "{list}");
    hive.hive(&["down"]).await.expect_code(0);
}

#[tokio::test]
async fn down_with_agents_stops_them_and_up_starts_the_same_ones() {
    let hive = place();
    let up = ["up", "--runtime", "process", "--engine", "scripted"];
    hive.hive(&up).await.expect_code(0);
    hive.hive(&["agent", "stop", "cook"]).await.expect_code(0);
    hive.until_state("cook", "stopped", hive_tests::wait::SOON)
        .await;
    hive.hive(&["down", "--agents"]).await.expect_code(0);
    hive.hive(&["up"]).await.expect_code(0);
    let list = hive.hive(&["agent", "ls", "--json"]).await.json();
    let state = |name: &str| {
        let agents = list.as_array().unwrap();
        let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
        agent["desired"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("lead"), "running");
    assert_eq!(state("scout"), "running");
    // The operator stopped this one, and down must not forget that.
    assert_eq!(state("cook"), "stopped");
    hive.hive(&["down"]).await.expect_code(0);
}

#[tokio::test]
async fn a_daemon_that_dies_at_its_start_says_why() {
    let hive = place();
    std::fs::write(hive.home().join("hive.toml"), "colour = \"red\"\n").unwrap();
    let up = hive.hive(&["up", "--runtime", "process"]).await;
    let up = up.expect_code(1);
    assert!(up.stderr.contains("colour"), "{up:?}");
    assert!(up.stderr.contains("hived.out"), "{up:?}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_starts() {
    let hive = place();
    let claude = ["up", "--runtime", "process", "--engine", "claude"];
    hive.hive(&claude).await.expect_code(1);
    hive.hive(&["up", "--runtime", "nixos"])
        .await
        .expect_code(2);
    hive.hive(&["status"]).await.expect_code(5);
}
