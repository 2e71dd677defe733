//! `hive serve`: from its start until it polls, and what it costs while it waits.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use hive_proto::v1::WatchRequest;
use hive_tests::TestHive;
use hive_tests::client::{Operator, Streaming};
use hive_tests::daemon::Daemon;
use hive_tests::programs;
use hive_tests::wait::pass;

use crate::peers::hive::{create, unlimited};
use crate::procfs::usage;
use crate::report::Figure;
use crate::scale::Scale;

const GROUP: &str = "hive serve";

/// # Errors
/// When a harness does not come up.
pub async fn measure(scale: &Scale) -> Result<Vec<Figure>> {
    let mut hive = unlimited().script(ECHO).start().await;
    let (mut first_polls, mut rss, mut pss) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..scale.runs.max(2) {
        let name = format!("bee-{n}");
        create(&mut hive, &name).await?;
        // Whoever polls first gets it at once: the lease is the first poll, seen from outside.
        hive.send(&name, "hello").await;
        let mut leases = leases(hive.operator()).await?;
        let begin = Instant::now();
        let process = serve(&hive, &name)?;
        leased(&mut leases, &name).await?;
        first_polls.push(begin.elapsed().as_secs_f64() * 1000.0);
        pass(Duration::from_secs(1)).await;
        let used = usage(process.pid());
        rss.push(used.rss_mib);
        pss.push(used.pss_mib);
    }
    let size = |path: std::path::PathBuf| -> Result<f64> {
        Ok(path.metadata()?.len() as f64 / 1024.0 / 1024.0)
    };
    Ok(vec![
        Figure::of(
            GROUP,
            "hive serve: start → first poll",
            "hive",
            &first_polls,
            "ms",
        ),
        Figure::of(GROUP, "hive serve, idle: RSS", "hive", &rss, "MiB"),
        Figure::of(GROUP, "hive serve, idle: PSS", "hive", &pss, "MiB"),
        Figure::new(
            GROUP,
            "size of hive, static",
            "hive",
            size(programs::static_hive())?,
            "MiB",
        ),
        Figure::new(
            GROUP,
            "size of hived",
            "hive",
            size(programs::hived())?,
            "MiB",
        ),
    ])
}

/// Rules of an agent that answers.
pub const ECHO: &str = r#"
[[rule]]
steps = [{ say = "done" }]
"#;

/// The static `hive` as the harness of an agent, with directories of its own.
fn serve(hive: &TestHive, name: &str) -> Result<Daemon> {
    let root = hive.home().join(format!("by-hand-{name}"));
    let mut command = Command::new(programs::static_hive());
    command.arg("serve").env("HIVE_AGENT", name);
    command.env("HIVE_SOCKET", hive.agent_sockets(name).join("broker.sock"));
    let folders = [
        ("HIVE_STATE_DIR", "state"),
        ("HIVE_HARNESS_DIR", "harness"),
        ("HIVE_RUN_DIR", "run"),
        ("HIVE_ENGINES_DIR", "engines"),
        ("HOME", "home"),
    ];
    for (variable, folder) in folders {
        std::fs::create_dir_all(root.join(folder))?;
        command.env(variable, root.join(folder));
    }
    Ok(Daemon::start(command, &root.join("log")))
}

/// Events from now on.
///
/// # Errors
/// When the hive does not answer.
pub async fn leases(mut operator: Operator) -> Result<Streaming<hive_proto::v1::Event>> {
    Ok(operator.watch(WatchRequest::default()).await?.into_inner())
}

/// Waits until a message of `name` is leased.
///
/// # Errors
/// When the hive ends, or nothing is leased for long.
pub async fn leased(events: &mut Streaming<hive_proto::v1::Event>, name: &str) -> Result<()> {
    let wait = async {
        while let Some(event) = events.next().await {
            let event = event?;
            if event.kind == "message.leased" && event.agent == name {
                return Ok(());
            }
        }
        anyhow::bail!("the events ended")
    };
    tokio::time::timeout(Duration::from_secs(60), wait)
        .await
        .context("nothing was leased")?
}
