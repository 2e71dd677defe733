//! The broker is killed and its disk fails; the ledger says what came of every operation.
//!
//! In CI a short form runs; `HIVE_CRASH=all` (`make crash`) takes every kill point.

use std::time::{Duration, Instant};

use hive_tests::TestHive;
use hive_tests::daemon::is_dead;
use hive_tests::load::Load;
use hive_tests::strace::{Fault, When, inject, tracee};
use hive_tests::wait::{SOON, pass, until};

/// How a commit reaches the disk, whichever of the two SQLite was built with.
pub(crate) const SYNC: &str = "fsync,fdatasync";

/// `some` in CI, `all` in `make crash`.
pub(crate) fn amount(some: u32, all: u32) -> u32 {
    match std::env::var("HIVE_CRASH") {
        Ok(word) if word == "all" => all,
        Ok(_) | Err(_) => some,
    }
}

/// A hive with four agents that run nothing; `bee` is the one that is written to.
async fn four() -> TestHive {
    let mut hive = TestHive::builder().by_hand().start().await;
    for name in ["bee", "ant", "wasp", "fly"] {
        hive.create(name, "").await;
    }
    hive
}

/// Ends the daemon below its tracer, and the tracer, which may still hold a child of it.
pub(crate) async fn end_traced(hive: &mut TestHive) {
    let tracer = hive.daemon().pid();
    let traced = tracee(tracer);
    if let Some(pid) = traced {
        hive_tests::daemon::send(pid, rustix::process::Signal::KILL);
    }
    hive.kill().await;
    if let Some(pid) = traced {
        let gone = || std::future::ready(is_dead(pid).then_some(()));
        until("no thread of it is left", SOON, gone).await;
    }
}

/// Whether the daemon below the tracer was there and is gone.
pub(crate) fn is_gone(hive: &mut TestHive, seen: &mut Option<u32>) -> bool {
    let tracer = hive.daemon().pid();
    *seen = seen.or_else(|| tracee(tracer));
    hive.daemon().ended().is_some() || seen.is_some_and(is_dead)
}

#[tokio::test]
async fn crash_at_every_fsync_of_send_recv_and_end() {
    let mut hive = four().await;
    hive.terminate().await;
    let points = amount(14, 120);
    let mut killed = 0;
    for point in 1..=points {
        let wrapper = inject(SYNC, Fault::Kill, When::Nth(point));
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        hive.spawn(hive.wrapped_command(&wrapper));
        let mut seen_pid = None;
        let mut load = Load::start(&hive, &["ant", "wasp"], "bee", 4);
        // The kill comes at a system call of the load; where the load needs fewer, it just ends.
        let start = Instant::now();
        loop {
            if is_gone(&mut hive, &mut seen_pid) {
                killed += 1;
                end_traced(&mut hive).await;
                break;
            }
            if load.is_sent() && start.elapsed() > Duration::from_secs(2) {
                end_traced(&mut hive).await;
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
        hive.start().await;
        let seen = load.finish().await;
        assert_eq!(
            seen.check(&hive, "bee").await,
            [],
            "killed at fsync {point}"
        );
        hive.terminate().await;
    }
    assert!(
        killed * 2 >= points,
        "only {killed} of {points} points were reached"
    );
}

#[tokio::test]
async fn crash_in_a_loop_loses_and_repeats_nothing() {
    let mut hive = four().await;
    let kills = amount(20, 300);
    let mut load = Load::start(&hive, &["ant", "wasp", "fly"], "bee", kills * 12);
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    for _ in 0..kills {
        // A small generator is random enough and its seed is in the log.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        pass(Duration::from_millis(20 + (seed >> 33) % 300)).await;
        hive.restart().await;
        if load.is_sent() {
            break;
        }
    }
    let seen = load.finish().await;
    let report = seen.ledger.report();
    println!("{report:?}, {} deliveries", seen.deliveries.len());
    assert_eq!(seen.check(&hive, "bee").await, []);
}

#[tokio::test]
async fn crash_the_reply_comes_after_the_fsync() {
    let mut hive = four().await;
    hive.terminate().await;
    let slow = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
    ];
    let delay = "inject=fsync,fdatasync:delay_enter=250000";
    let wrapper: Vec<&str> = slow.iter().copied().chain([delay]).collect();
    hive.spawn(hive.wrapped_command(&wrapper));
    hive.ready().await;
    for n in 0..10 {
        let start = Instant::now();
        let id = hive.send("bee", &format!("{n}")).await;
        let took = start.elapsed();
        assert!(
            took >= Duration::from_millis(240),
            "answered after {took:?}, before the disk was"
        );
        assert!(id > 0);
    }
    end_traced(&mut hive).await;
}

#[tokio::test]
async fn crash_at_every_fsync_of_the_first_start() {
    // The schema is made in one transaction: killed anywhere, the next start makes it or finds it.
    let points = amount(8, 40);
    let mut killed = 0;
    for point in 1..=points {
        let mut hive = TestHive::builder().by_hand().prepare();
        let wrapper = inject(SYNC, Fault::Kill, When::Nth(point));
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        hive.spawn(hive.wrapped_command(&wrapper));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) && !hive.operator_socket().exists() {
            if hive.daemon().ended().is_some() {
                killed += 1;
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
        end_traced(&mut hive).await;
        hive.start().await;
        hive.create("bee", "").await;
        hive.send("bee", "works").await;
        hive.restart().await;
        assert_eq!(hive.mailbox("bee").await.len(), 1);
    }
    assert!(killed >= 2, "only {killed} starts were killed");
}

#[tokio::test]
async fn crash_every_call_that_writes_a_file() {
    // Not only where the disk is synced: at writes into the log, renames, removals.
    let mut hive = four().await;
    hive.terminate().await;
    let points = amount(10, 150);
    let step = 3;
    for point in 0..points {
        let calls = "pwrite64,ftruncate,unlink,unlinkat,rename,renameat2";
        let wrapper = inject(calls, Fault::Kill, When::Nth(1 + point * step));
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        hive.spawn(hive.wrapped_command(&wrapper));
        let mut load = Load::start(&hive, &["ant"], "bee", 6);
        let mut seen_pid = None;
        let start = Instant::now();
        while !is_gone(&mut hive, &mut seen_pid) && start.elapsed() < Duration::from_secs(5) {
            if load.is_sent() && start.elapsed() > Duration::from_secs(2) {
                break;
            }
            pass(Duration::from_millis(10)).await;
        }
        end_traced(&mut hive).await;
        hive.start().await;
        let seen = load.finish().await;
        assert_eq!(
            seen.check(&hive, "bee").await,
            [],
            "killed at write {point}"
        );
        hive.terminate().await;
    }
}

#[tokio::test]
async fn crash_of_broker_and_harness_in_turns_answers_each_once() {
    let mut hive = TestHive::builder()
        .script(crate::first_message::ECHO)
        .start()
        .await;
    hive.create("bee", "").await;
    let mut ids = Vec::new();
    for n in 0..amount(12, 60) {
        ids.push(hive.send("bee", &format!("{n}")).await);
    }
    // Fewer deaths of the harness than a message may die, so that none can end among the dead.
    for round in 0..4 {
        pass(Duration::from_millis(150 * (round + 1))).await;
        for pid in hive.agent_processes() {
            hive_tests::daemon::send(pid, rustix::process::Signal::KILL);
        }
        pass(Duration::from_millis(100)).await;
        hive.restart().await;
    }
    for id in &ids {
        hive.acked(*id, Duration::from_secs(120)).await;
    }
    let bodies: Vec<String> = hive.mailbox("").await.into_iter().map(|m| m.body).collect();
    let expected: Vec<String> = (0..ids.len()).map(|n| format!("echo: {n}")).collect();
    assert_eq!(bodies, expected);
}
