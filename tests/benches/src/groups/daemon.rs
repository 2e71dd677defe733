//! `hived`: from its start until it serves.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hive_proto::v1::GetStatusRequest;
use hive_tests::TestHive;

use crate::peers::hive::unlimited;
use crate::report::Figure;
use crate::scale::Scale;
use crate::seed;

const GROUP: &str = "hived";

/// # Errors
/// When it does not start.
pub async fn measure(scale: &Scale) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for agents in [0, scale.agents_in_db] {
        let hive = unlimited().prepare();
        seed::agents(&hive.home(), agents).await?;
        let mut serving = Vec::new();
        for _ in 0..scale.runs {
            serving.push(start(&hive).await?);
        }
        let what = format!("hived, {agents} agents: start → serving");
        figures.push(Figure::of(GROUP, what, "hive", &serving, "ms").noted("agents are stopped"));
    }
    Ok(figures)
}

/// Starts `hived` on a hive that is not running, and ends it again: milliseconds until it has answered.
///
/// # Errors
/// When it does not start.
pub async fn start(hive: &TestHive) -> Result<f64> {
    let begin = Instant::now();
    let mut command = hive.hived_command();
    let log = std::fs::File::create(hive.log_path())?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()?;
    let stdout = child.stdout.take().context("a pipe was asked for")?;
    let ready = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map(|_| line)
    });
    let line = ready.await??;
    anyhow::ensure!(line.contains("ready"), "hived said {line:?}");
    hive.operator().get_status(GetStatusRequest {}).await?;
    let serving = begin.elapsed().as_secs_f64() * 1000.0;
    child.kill()?;
    child.wait()?;
    Ok(serving)
}
