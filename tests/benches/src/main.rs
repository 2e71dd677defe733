//! `make bench`: hive measured, and what one would take instead, in the same run.
//!
//! - [`bus`], [`load`]: what a broker is, and how it is loaded; [`peers`]: hive and the others as one
//! - [`groups`]: one group of figures a file; [`scale`]: how much of each
//! - [`report`], [`targets`], [`plot`]: the table with its verdicts, the JSON document, the curves
//!
//! tests/bench.sh builds what is measured and installs what it is measured beside.

mod bus;
mod groups;
mod load;
mod machine;
mod peers;
mod plot;
mod procfs;
mod report;
mod scale;
mod seed;
mod stats;
mod targets;
mod upstream;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use groups::{containers, daemon, fleet, gateway, growth, harness, idle, instructions, send, turn};
use hive_tests::docker::try_docker;
use machine::Machine;
use report::{Figure, Report};
use scale::Scale;

const USAGE: &str = "hive-bench [--quick] [--only GROUP,…] [--out DIR] [--bless]";
const GROUPS: [&str; 9] = [
    "send",
    "hived",
    "harness",
    "fleet",
    "containers",
    "turn",
    "gateway",
    "growth",
    "instructions",
];

/// What is asked for.
struct Args {
    scale: Scale,
    only: Vec<String>,
    out: PathBuf,
    /// Writes the counted instructions into the kept table.
    bless: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let first = words.next();
    if first.as_deref() == Some("child") {
        return child(&words.collect::<Vec<_>>()).await;
    }
    let args = parse(first.into_iter().chain(words))?;
    std::fs::create_dir_all(&args.out)?;
    let report = measure(&args).await?;
    let mut table = report.table();
    table.push_str(&format!("\n{}\n", report.summary()));
    std::fs::write(
        args.out.join("bench.json"),
        serde_json::to_string_pretty(&report)?,
    )?;
    std::fs::write(args.out.join("bench.txt"), &table)?;
    println!("{table}");
    Ok(())
}

fn parse(words: impl Iterator<Item = String>) -> Result<Args> {
    let mut args = Args {
        scale: Scale::full(),
        only: Vec::new(),
        out: PathBuf::from("target/bench"),
        bless: false,
    };
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => args.scale = Scale::quick(),
            "--bless" => args.bless = true,
            "--only" => {
                args.only = words
                    .next()
                    .context(USAGE)?
                    .split(',')
                    .map(str::to_owned)
                    .collect()
            }
            "--out" => args.out = words.next().context(USAGE)?.into(),
            _ => bail!("{USAGE}"),
        }
    }
    if let Some(unknown) = args
        .only
        .iter()
        .find(|only| !GROUPS.contains(&only.as_str()) && *only != "idle")
    {
        bail!("no group {unknown}; there are idle, {}", GROUPS.join(", "));
    }
    Ok(args)
}

/// This program as one of its own servers.
async fn child(words: &[String]) -> Result<()> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["echo", socket] => peers::echo::serve(Path::new(socket)).await,
        ["pingpong", socket] => peers::floor::serve(Path::new(socket)),
        ["instructions", step] => instructions::drive(step).await,
        _ => bail!("{USAGE}"),
    }
}

// === impl Args ===

impl Args {
    fn wants(&self, group: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == group)
    }
}

async fn measure(args: &Args) -> Result<Report> {
    let begin = Instant::now();
    let mut report = Report {
        machine: Machine::look(),
        loads: Vec::new(),
        seconds: 0,
        figures: Vec::new(),
    };
    let idle = match args.wants("idle") {
        true => Some(idle::Idle::begin(&args.scale).await?),
        false => None,
    };
    for group in GROUPS.into_iter().filter(|group| args.wants(group)) {
        let load = machine::load();
        eprintln!("{:>4} s  {group} (load {load})", begin.elapsed().as_secs());
        report.loads.push((group.to_owned(), load));
        let figures = one(group, args)
            .await
            .with_context(|| format!("group {group}"))?;
        report.figures.extend(figures);
    }
    if let Some(idle) = idle {
        eprintln!("{:>4} s  idle", begin.elapsed().as_secs());
        report.figures.extend(idle.end(&args.scale).await?);
    }
    report.seconds = begin.elapsed().as_secs();
    targets::judge(&mut report);
    Ok(report)
}

async fn one(group: &str, args: &Args) -> Result<Vec<Figure>> {
    let scale = &args.scale;
    let docker = || try_docker(&["version"]).0 == 0;
    match group {
        "send" => send::measure(scale).await,
        "hived" => daemon::measure(scale).await,
        "harness" => harness::measure(scale).await,
        "fleet" => fleet::measure(scale, docker()).await,
        "containers" if !docker() => Ok(vec![Figure::skipped(
            "containers",
            "all",
            "hive",
            "no Docker engine",
        )]),
        "containers" => containers::measure(scale).await,
        "turn" => turn::measure(scale, std::env::var_os("HIVE_TEST_CLAUDE").is_some()).await,
        "gateway" => gateway::measure(scale).await,
        "growth" => growth::measure(scale, &args.out).await,
        _ => instructions::measure(args.bless),
    }
}
