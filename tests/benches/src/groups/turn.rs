//! Turns: from a message to the first model request, beside claude alone; and what a scripted turn costs.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hive_proto::v1::CreateAgentRequest;
use hive_tests::wait::{SOON, pass};
use hive_tests::{TestHive, programs};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::harness::ECHO;
use crate::report::Figure;
use crate::scale::Scale;
use crate::stats::{median, now};
use crate::upstream::{Relay, Upstream};

const GROUP: &str = "turn";
const ALONE: &str = "claude alone";
const LONG: &str = "long-lived claude, start of turn → model request";
const ONCE: &str = "one claude a turn, start of turn → model request";
const BETWEEN: Duration = Duration::from_millis(300);
const TURN: Duration = Duration::from_secs(60);

/// # Errors
/// When a turn does not end.
pub async fn measure(scale: &Scale, claude: bool) -> Result<Vec<Figure>> {
    let mut figures = vec![scripted(scale).await?];
    if !claude {
        figures.push(Figure::skipped(GROUP, LONG, ALONE, "no claude"));
        return Ok(figures);
    }
    let upstream = Upstream::start().await?;
    let mut relay = Relay::start(upstream.address).await?;
    let alone = alone_long_lived(&mut relay, scale.turns).await?;
    let ours = in_hive(&mut relay, 90, scale.turns).await?;
    let added = median(&ours) - median(&alone);
    figures.push(Figure::of(GROUP, LONG, "hive", &ours, "ms"));
    figures.push(Figure::of(GROUP, LONG, ALONE, &alone, "ms"));
    let what = "long-lived claude: message → model request";
    figures.push(Figure::new(GROUP, what, "hive", added, "ms").noted("over claude alone"));
    let turns = scale.turns.div_ceil(2);
    let alone = alone_once(&mut relay, turns).await?;
    let ours = in_hive(&mut relay, 0, turns).await?;
    figures.push(Figure::of(GROUP, ONCE, "hive", &ours, "ms"));
    figures.push(Figure::of(GROUP, ONCE, ALONE, &alone, "ms"));
    Ok(figures)
}

/// Send → acked, with an engine that takes no time.
async fn scripted(scale: &Scale) -> Result<Figure> {
    let mut hive = TestHive::builder().script(ECHO).start().await;
    hive.create("bee", "").await;
    let first = hive.send("bee", "hello").await;
    hive.acked(first, SOON).await;
    let mut operator = hive.operator();
    let mut times = Vec::new();
    for _ in 0..scale.turns * 5 {
        pass(Duration::from_millis(5)).await;
        let begin = now();
        let id = hive.send("bee", "hello").await;
        let request = hive_proto::v1::WaitMessageRequest {
            id,
            wait_ms: 10_000,
        };
        operator.wait_message(request).await?;
        times.push((now() - begin) as f64 / 1e6);
    }
    Ok(Figure::of(
        GROUP,
        "scripted turn: send → acked",
        "hive",
        &times,
        "ms",
    ))
}

/// Send → model request, in milliseconds, the first turn left out.
async fn in_hive(relay: &mut Relay, idle_secs: i64, turns: usize) -> Result<Vec<f64>> {
    let setup = TestHive::builder()
        .set("runtime.process.trusted", true)
        .set("engine.idle_secs", idle_secs)
        .set("gateway.upstream", format!("http://{}", relay.address))
        .env("ANTHROPIC_API_KEY", "bench");
    let mut hive = setup.prepare();
    let claude = programs::claude();
    let version = claude
        .parent()
        .and_then(|folder| folder.file_name())
        .unwrap_or_default();
    let version = version.to_string_lossy();
    let version = version.strip_prefix("claude-").unwrap_or(&version);
    let engine = format!("claude@{version}");
    hive.hive(&[
        "engine",
        "install",
        &engine,
        "--from",
        &claude.to_string_lossy(),
    ])
    .await
    .expect_code(0);
    hive.start().await;
    let request = CreateAgentRequest {
        name: "bee".to_owned(),
        engine: "claude".to_owned(),
        model: "haiku".to_owned(),
        ..Default::default()
    };
    hive.create_as(request).await?;
    hive.until_state("bee", "idle", SOON).await;
    let mut times = Vec::new();
    for turn in 0..=turns {
        relay.clear();
        let begin = now();
        let id = hive.send("bee", "hello").await;
        let at = relay.request().await?;
        hive.acked(id, TURN).await;
        if turn > 0 {
            times.push((at - begin) as f64 / 1e6);
        }
        pass(BETWEEN).await;
    }
    Ok(times)
}

/// claude without hive, in a home of its own.
fn claude(relay: &Relay, home: &TempDir) -> Command {
    let mut command = Command::new(programs::claude());
    command.args([
        "--print",
        "--verbose",
        "--output-format",
        "stream-json",
        "--model",
        "haiku",
    ]);
    command
        .env_clear()
        .env("HOME", home.path())
        .current_dir(home.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", relay.address));
    command.env("ANTHROPIC_API_KEY", "bench");
    command
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    command
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A running claude that is told its prompts one by one.
struct Alone {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

async fn alone_long_lived(relay: &mut Relay, turns: usize) -> Result<Vec<f64>> {
    let home = tempfile::tempdir()?;
    let mut command = claude(relay, &home);
    let mut child = command
        .args(["--input-format", "stream-json"])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut alone = Alone {
        stdin: child.stdin.take().context("a pipe")?,
        lines: BufReader::new(child.stdout.take().context("a pipe")?).lines(),
        _child: child,
    };
    let prompt = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;
    let mut times = Vec::new();
    for turn in 0..=turns {
        relay.clear();
        let begin = now();
        alone
            .stdin
            .write_all(format!("{prompt}\n").as_bytes())
            .await?;
        let at = relay.request().await?;
        while let Some(line) = alone.lines.next_line().await? {
            if line.contains(r#""type":"result""#) {
                break;
            }
        }
        if turn > 0 {
            times.push((at - begin) as f64 / 1e6);
        }
        pass(BETWEEN).await;
    }
    Ok(times)
}

async fn alone_once(relay: &mut Relay, turns: usize) -> Result<Vec<f64>> {
    let home = tempfile::tempdir()?;
    let mut times = Vec::new();
    for turn in 0..=turns {
        relay.clear();
        let begin = now();
        let mut command = claude(relay, &home);
        let child = command.arg("hello").stdin(Stdio::null()).spawn()?;
        let at = relay.request().await?;
        child.wait_with_output().await?;
        if turn > 0 {
            times.push((at - begin) as f64 / 1e6);
        }
    }
    Ok(times)
}
