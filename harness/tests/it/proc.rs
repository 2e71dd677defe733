//! Real processes that do not want to end.

use std::process::Stdio;
use std::time::{Duration, Instant};

use hive::proc::Children;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// A shell that says `ready` once it and a child in a session of its own run.
fn tree(trap: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{trap}; setsid sleep 600 & echo $!; sleep 600; echo over; sleep 600");
    command.arg("-c").arg(script).stdout(Stdio::piped());
    command
}

fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Nobody adopts orphans in the test, so a dead one may stay as a zombie for a while.
    let state = stat
        .rsplit_once(") ")
        .map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

#[tokio::test]
async fn a_tree_that_ignores_term_is_killed_with_what_left_its_group() {
    let children = Children::default();
    let mut group = children.spawn_group(&mut tree("trap '' TERM")).unwrap();
    let mut lines = BufReader::new(group.child().stdout.take().unwrap()).lines();
    let away: u32 = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    assert!(runs(away) && runs(group.pid()));
    let found = children
        .kill_tree(group.pid(), Duration::from_millis(300))
        .await;
    assert!(found >= 2, "{found}");
    assert!(!runs(away) && !runs(group.pid()));
    assert!(!group.child().wait().await.unwrap().success());
}

#[tokio::test]
async fn a_tree_that_obeys_needs_no_grace() {
    let children = Children::default();
    let mut group = children.spawn_group(&mut tree(":")).unwrap();
    let mut lines = BufReader::new(group.child().stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap().unwrap();
    let begun = Instant::now();
    let status = group.end(Duration::from_secs(60)).await.unwrap();
    assert!(!status.success());
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn init_and_the_harness_itself_are_never_meant() {
    for pid in [0, 1, std::process::id()] {
        assert_eq!(Children::default().kill_tree(pid, Duration::ZERO).await, 0);
    }
}
