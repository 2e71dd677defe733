//! A hundred real harnesses: what `hived` costs while they wait, and how soon they are back after it was
//! killed. In containers where there is an engine: only those outlive their broker.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hive_proto::v1::ListAgentsRequest;
use hive_tests::wait::pass;
use hive_tests::{Runtime, TestHive};

use super::harness::ECHO;
use crate::procfs::usage;
use crate::report::Figure;
use crate::scale::Scale;

const GROUP: &str = "fleet";
const PATIENCE: Duration = Duration::from_secs(120);
/// Kills of the broker; each is followed by a quiet second.
const KILLS: usize = 3;

/// # Errors
/// When agents do not come up.
pub async fn measure(scale: &Scale, docker: bool) -> Result<Vec<Figure>> {
    let (runtime, note) = match docker {
        true => (Runtime::Docker, "in containers"),
        false => (
            Runtime::Process,
            "as processes, which end with hived: no Docker engine",
        ),
    };
    let mut hive = TestHive::builder()
        .runtime(runtime)
        .script(ECHO)
        .start()
        .await;
    let agents = scale.fleet;
    let begin = Instant::now();
    for n in 0..agents {
        let name = hive.unique(&format!("bee{n}"));
        hive.create(&name, "").await;
    }
    all_idle(&hive, agents).await?;
    let up = begin.elapsed().as_secs_f64();
    // The bustle of the start is over.
    pass(scale.quiet / 4).await;
    let before = usage(hive.daemon().pid());
    pass(scale.quiet).await;
    let after = usage(hive.daemon().pid());
    let cpu = (after.cpu_secs - before.cpu_secs) / scale.quiet.as_secs_f64() * 100.0;
    let mut back = Vec::new();
    for _ in 0..KILLS.min(scale.runs) {
        hive.kill().await;
        let begin = Instant::now();
        hive.spawn(hive.hived_command());
        all_idle(&hive, agents).await?;
        back.push(begin.elapsed().as_secs_f64());
        pass(Duration::from_secs(1)).await;
    }
    let what = |what: &str| format!("hived, {agents} agents idle: {what}");
    Ok(vec![
        Figure::new(GROUP, what("RSS"), "hive", after.rss_mib, "MiB").noted(note),
        Figure::new(GROUP, what("CPU"), "hive", cpu, "%").noted(note),
        Figure::of(
            GROUP,
            format!("hived killed → {agents} agents attached"),
            "hive",
            &back,
            "s",
        )
        .noted(note),
        Figure::new(
            GROUP,
            format!("{agents} agents created → all attached"),
            "hive",
            up,
            "s",
        )
        .noted(note),
    ])
}

/// Waits until so many agents are shown as idle: attached, and known to be.
async fn all_idle(hive: &TestHive, count: usize) -> Result<()> {
    let begin = Instant::now();
    loop {
        let listed = hive.operator().list_agents(ListAgentsRequest {}).await;
        let agents = listed
            .map(|listed| listed.into_inner().agents)
            .unwrap_or_default();
        let idle = agents.iter().filter(|agent| agent.state == "idle").count();
        if idle == count {
            return Ok(());
        }
        ensure!(
            begin.elapsed() < PATIENCE,
            "{idle} of {count} agents are idle"
        );
        pass(Duration::from_millis(10)).await;
    }
}
