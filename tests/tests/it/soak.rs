//! Hours of load, kills and idling: `make soak`, with `HIVE_SOAK_MINUTES`.

use std::path::Path;
use std::time::{Duration, Instant};

use hive_tests::TestHive;
use hive_tests::load::Load;
use hive_tests::wait::{SOON, pass};

/// How long it lasts altogether.
fn minutes() -> u64 {
    std::env::var("HIVE_SOAK_MINUTES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(10)
}

/// Resident memory in KiB, and open descriptors.
fn footprint(pid: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let rss = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_default();
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .map(Iterator::count)
        .unwrap_or_default();
    (rss, fds)
}

fn bytes_below(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => sum += meta.len(),
                Err(_) => {}
            }
        }
    }
    sum
}

#[tokio::test]
#[ignore = "lasts for hours: make soak"]
async fn soak_load_and_kills_lose_nothing_and_leak_nothing() {
    let end = Instant::now() + Duration::from_secs(minutes() * 60 * 2 / 3);
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "ant", "wasp", "fly"] {
        hive.create(name, "").await;
    }
    let mut round = 0;
    let mut first = None;
    while Instant::now() < end {
        round += 1;
        let mut load = Load::start(&hive, &["ant", "wasp", "fly"], "bee", 100);
        let mut kills = 0;
        while !load.is_sent() {
            pass(Duration::from_millis(400 + 97 * (round % 7))).await;
            hive.restart().await;
            kills += 1;
        }
        let seen = load.finish().await;
        assert_eq!(seen.check(&hive, "bee").await, [], "round {round}");
        let (rss, fds) = footprint(hive.daemon().pid());
        println!(
            "round {round}: {:?}, {kills} kills, {rss} KiB, {fds} descriptors",
            seen.ledger.report()
        );
        let (rss_first, fds_first) = *first.get_or_insert((rss, fds));
        assert!(
            rss < rss_first + 60_000,
            "memory grows: {rss} KiB after {rss_first}"
        );
        assert!(
            fds < fds_first + 50,
            "descriptors grow: {fds} after {fds_first}"
        );
    }
}

#[tokio::test]
#[ignore = "lasts for hours: make soak"]
async fn soak_an_idle_hive_does_nothing() {
    let mut hive = TestHive::builder()
        .script(crate::first_message::ECHO)
        .start()
        .await;
    for n in 0..10 {
        let name = format!("bee-{n}");
        hive.create(&name, "").await;
        let id = hive.send(&name, "hello").await;
        hive.answer(id, SOON).await;
    }
    pass(Duration::from_secs(30)).await;
    let (seq, disk) = (hive.last_seq().await, bytes_below(&hive.home()));
    let (rss, fds) = footprint(hive.daemon().pid());
    pass(Duration::from_secs(minutes() * 60 / 3)).await;
    assert_eq!(hive.last_seq().await, seq, "something happened by itself");
    let grown = bytes_below(&hive.home()).saturating_sub(disk);
    // Beats are kept in memory; hived's own log may have grown by a line.
    assert!(grown < 64 * 1024, "the disk grew by {grown} bytes");
    let (rss_after, fds_after) = footprint(hive.daemon().pid());
    assert!(rss_after < rss + 10_000, "{rss_after} KiB after {rss}");
    assert!(fds_after <= fds + 5, "{fds_after} descriptors after {fds}");
}
