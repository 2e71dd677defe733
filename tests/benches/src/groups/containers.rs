//! Containers: what hive adds to a bare create and start of the same image.

use std::time::Instant;

use anyhow::{Result, ensure};
use hive_proto::v1::{CreateAgentRequest, StopAgentRequest};
use hive_tests::docker::try_docker;
use hive_tests::wait::SOON;
use hive_tests::{Runtime, TestHive};
use tokio::task::JoinSet;

use super::harness::{ECHO, leased, leases};
use crate::report::Figure;
use crate::scale::Scale;

const GROUP: &str = "containers";
const IMAGE: &str = "hive-agent:latest";
const AT_ONCE: usize = 8;

/// # Errors
/// When a container does not come up.
pub async fn measure(scale: &Scale) -> Result<Vec<Figure>> {
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(ECHO)
        .start()
        .await;
    let mut times: [Vec<f64>; 4] = Default::default();
    for n in 0..scale.runs {
        let name = hive.unique(&format!("bare{n}"));
        let begin = Instant::now();
        bare_up(&name)?;
        times[0].push(ms(begin));
        let begin = Instant::now();
        docker(&["rm", "-f", &name])?;
        times[1].push(ms(begin));
        let name = hive.unique(&format!("bee{n}"));
        let begin = Instant::now();
        up(&mut hive, &[&name]).await?;
        times[2].push(ms(begin));
        let begin = Instant::now();
        hive.operator()
            .stop_agent(StopAgentRequest {
                name: name.clone(),
                now: false,
            })
            .await?;
        hive.until_state(&name, "stopped", SOON).await;
        times[3].push(ms(begin));
    }
    let [bare, bare_end, ours, end] = times;
    let up = "container: create → first poll";
    let mut figures = vec![
        Figure::of(GROUP, up, "hive", &ours, "ms"),
        Figure::of(GROUP, up, "bare container", &bare, "ms").noted("until its start is answered"),
        Figure::of(GROUP, "container: stop", "hive", &end, "ms"),
        Figure::of(GROUP, "container: stop", "bare container", &bare_end, "ms")
            .noted("kill and remove"),
    ];
    figures.extend(at_once(&mut hive).await?);
    Ok(figures)
}

/// Several created in one go.
async fn at_once(hive: &mut TestHive) -> Result<Vec<Figure>> {
    let names = |hive: &TestHive, kind: &str| -> Vec<String> {
        (0..AT_ONCE)
            .map(|n| hive.unique(&format!("{kind}{n}")))
            .collect()
    };
    let begin = Instant::now();
    let mut all = JoinSet::new();
    for name in names(hive, "x") {
        all.spawn_blocking(move || bare_up(&name));
    }
    while let Some(ended) = all.join_next().await {
        ended??;
    }
    let bare = ms(begin);
    for name in names(hive, "x") {
        docker(&["rm", "-f", &name])?;
    }
    let ours = names(hive, "y");
    let begin = Instant::now();
    up(hive, &ours.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let what = format!("{AT_ONCE} containers at once: create → all poll");
    Ok(vec![
        Figure::new(GROUP, what.clone(), "hive", ms(begin), "ms"),
        Figure::new(GROUP, what, "bare container", bare, "ms"),
    ])
}

/// Creates agents and waits until each has taken the message that waited for it.
async fn up(hive: &mut TestHive, names: &[&str]) -> Result<()> {
    let mut events = Vec::new();
    for name in names {
        events.push((leases(hive.operator()).await?, *name));
    }
    for name in names {
        hive.remember(name);
        let request = CreateAgentRequest {
            name: (*name).to_owned(),
            engine: "scripted".to_owned(),
            ..Default::default()
        };
        hive.operator().create_agent(request).await?;
        hive.send(name, "hello").await;
    }
    for (events, name) in &mut events {
        leased(events, name).await?;
    }
    Ok(())
}

/// The least that anyone would do: the same image, no network, a program that waits.
fn bare_up(name: &str) -> Result<()> {
    docker(&[
        "create",
        "--network",
        "none",
        "--name",
        name,
        IMAGE,
        "sleep",
        "600",
    ])?;
    docker(&["start", name])
}

fn docker(args: &[&str]) -> Result<()> {
    let (code, _, stderr) = try_docker(args);
    ensure!(code == 0, "docker {args:?}: {stderr}");
    Ok(())
}

fn ms(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}
