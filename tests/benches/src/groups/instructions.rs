//! Instructions of one send, one receive, one ack, counted by callgrind: a number that a busy machine
//! does not change. The table of the repository says what they were.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hive_proto::ids::{AgentId, Epoch};
use hive_proto::v1::{FailureClass, Outcome, Role};
use hived::clock::Clock;
use hived::inbox::{Inbox, Limits, Outgoing, RecvArgs, Sender, Take};
use hived::sessions::{Hello, Sessions};
use hived::settle::{Onward, Seen};
use hived::shutdown::Tasks;
use hived::store::Store;
use hived::store::agents::{self, NewAgent};
use hived::store::turns::Usage;
use hived::turns::{EndTurn, Turns};

use crate::load::BODY;
use crate::peers::server::program;
use crate::report::Figure;

const GROUP: &str = "instructions";
/// Agents, and messages: one for each.
const COUNT: u64 = 200;
/// More than this is said; it fails nothing.
const GROWTH: f64 = 1.10;
/// Each step does what the ones before it do, and one thing more.
const STEPS: [&str; 4] = ["none", "send", "recv", "ack"];

/// The table that is kept.
fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

/// # Errors
/// When valgrind fails, or the table cannot be read or written.
pub fn measure(bless: bool) -> Result<Vec<Figure>> {
    if program(&["valgrind"]).is_none() {
        return Ok(vec![Figure::skipped(GROUP, "all", "hive", "no valgrind")]);
    }
    let mut before = count(STEPS[0])?;
    let mut now = BTreeMap::new();
    for step in &STEPS[1..] {
        let total = count(step)?;
        now.insert((*step).to_owned(), (total - before) / COUNT);
        before = total;
    }
    let text = std::fs::read_to_string(kept()).unwrap_or_else(|_| "{}".to_owned());
    let kept_counts: BTreeMap<String, u64> = serde_json::from_str(&text)?;
    if bless {
        std::fs::write(kept(), serde_json::to_string_pretty(&now)? + "\n")?;
    }
    Ok(now
        .iter()
        .map(|(step, count)| figure(step, *count, kept_counts.get(step)))
        .collect())
}

fn figure(step: &str, count: u64, kept: Option<&u64>) -> Figure {
    let figure = Figure::new(GROUP, format!("one {step}"), "hive", count as f64, "instr");
    let Some(kept) = kept.map(|kept| *kept as f64) else {
        return figure.noted("not in the kept table");
    };
    let change = (count as f64 / kept - 1.0) * 100.0;
    let word = if count as f64 > kept * GROWTH {
        "GREW: "
    } else {
        ""
    };
    figure.noted(format!("{word}{change:+.1} % against the kept table"))
}

/// Instructions of the whole driver.
fn count(step: &str) -> Result<u64> {
    let dir = tempfile::tempdir()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!(
        "--callgrind-out-file={}",
        dir.path().join("out").display()
    ));
    command
        .arg(std::env::current_exe()?)
        .args(["child", "instructions", step]);
    let ran = command.output()?;
    ensure!(
        ran.status.success(),
        "valgrind: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let text = std::fs::read_to_string(dir.path().join("out"))?;
    let line = text.lines().find_map(|line| {
        line.strip_prefix("summary:")
            .or_else(|| line.strip_prefix("totals:"))
    });
    Ok(line.context("callgrind wrote no summary")?.trim().parse()?)
}

/// What runs below valgrind: the services on a database in memory, one call after the other.
///
/// # Errors
/// When a call is refused.
pub async fn drive(step: &str) -> Result<()> {
    let depth = STEPS
        .iter()
        .position(|known| *known == step)
        .context("no such step")?;
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    std::fs::create_dir(dir.path().join("backups"))?;
    let (clock, tasks) = (Clock::system(), Tasks::default());
    let store = Store::open(dir.path(), clock.clone(), tasks.clone())?;
    let sessions = Sessions::new(store.clone(), clock.clone(), tasks.clone());
    let inbox = Inbox::new(store.clone(), clock, tasks, Limits::default());
    let turns = Turns::new(store.clone(), sessions.clone());
    let mut held: Vec<(AgentId, Epoch)> = Vec::new();
    for n in 0..COUNT {
        let id = agent(&store, n).await?;
        let hello = Hello {
            instance: "bench".to_owned(),
            version: "0".to_owned(),
            level: hive_proto::LEVEL,
        };
        held.push((id, sessions.open(id, hello).await?.epoch));
    }
    if depth >= 1 {
        for n in 0..COUNT {
            let outgoing = Outgoing {
                body: "x".repeat(BODY),
                ..Default::default()
            };
            inbox
                .send(Sender::Operator, &format!("bee-{n}"), outgoing)
                .await?;
        }
    }
    let mut open = Vec::new();
    if depth >= 2 {
        for (agent, epoch) in &held {
            let args = RecvArgs {
                epoch: *epoch,
                max: 1,
                wait: Duration::ZERO,
                take: Take::Begin,
            };
            let turn = inbox.recv(*agent, args).await?.turn;
            open.push((*agent, *epoch, turn.context("nothing came")?));
        }
    }
    if depth >= 3 {
        for (agent, epoch, turn) in open {
            let end = EndTurn {
                epoch,
                turn,
                outcome: Outcome::Ok,
                failure: FailureClass::Unspecified,
                detail: String::new(),
                usage: Usage::default(),
                model: String::new(),
                seen: Seen::All,
                onward: Onward::Rest,
            };
            turns.end(agent, end).await?;
        }
    }
    Ok(())
}

async fn agent(store: &Store, n: u64) -> Result<AgentId> {
    let new = NewAgent {
        name: format!("bee-{n}")
            .parse()
            .map_err(|_| anyhow::anyhow!("a bad name"))?,
        role: Role::Agent,
        parent: None,
        engine: "scripted".to_owned(),
        model: String::new(),
        image: String::new(),
        role_prompt: String::new(),
        script: String::new(),
        config_sha: String::new(),
    };
    Ok(store.write(move |tx| agents::insert(tx, &new)).await?.id)
}
