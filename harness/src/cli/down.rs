//! `hive down`: ends `hived`; with `--agents` the agents first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hive_proto::v1::{Agent, Reason, StopAgentRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::net::UnixStream;

use super::output::{self, Progress};
use super::{CliError, Ctx};
use crate::broker::CommandCalls;

/// `hived` itself gives its tasks 5 s; a busy disk may take some more.
const DAEMON: Duration = Duration::from_secs(30);
/// TERM, 10 s of grace, KILL, and the engine's own time.
const AGENTS: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Stop hived. Agents in containers keep running; a running turn ends by itself.
///
/// With --agents every running agent is stopped first, and the next `hive up` starts the same ones
/// again. Agents of the `process` runtime end with hived in any case, and start with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive down --agents")]
pub struct Args {
    /// Stop the agents too.
    #[arg(long)]
    agents: bool,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    ctx.on_host()?;
    let Some(daemon) = find(&ctx.operator_socket()).await? else {
        return output::line("hived does not run");
    };
    if args.agents {
        stop_agents(&ctx).await?;
    }
    end(&daemon).await?;
    output::line("hived: stopped")
}

/// The names that the next `hive up` starts again, one a line.
pub(super) fn stopped_list(home: &Path) -> PathBuf {
    home.join("stopped-by-down")
}

/// The process behind the operator's socket. The kernel says who listens, so a stale file with a
/// number cannot name a stranger.
async fn find(socket: &Path) -> Result<Option<OwnedFd>, CliError> {
    let stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => Ok(None),
                _ => Err(CliError::failed(format!(
                    "cannot reach hived at {}: {error}",
                    socket.display()
                ))),
            };
        }
    };
    let pid = stream.peer_cred()?.pid().and_then(Pid::from_raw);
    let Some(pid) = pid else {
        return Err(CliError::failed(
            "hived runs where its process cannot be seen",
        ));
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => Ok(Some(fd)),
        // It ended just now.
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

async fn end(daemon: &OwnedFd) -> Result<(), CliError> {
    match pidfd_send_signal(daemon, Signal::TERM) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(rustix::io::Errno::PERM) => {
            return Err(
                CliError::refused(Reason::NotPermitted, "hived runs as another user")
                    .with_hint("run `hive down` as that user or as root"),
            );
        }
        Err(error) => return Err(std::io::Error::from(error).into()),
    }
    let mut progress = Progress::new();
    progress.set("stopping hived");
    let begun = Instant::now();
    while !has_ended(daemon) {
        if begun.elapsed() > DAEMON {
            progress.clear();
            return Err(CliError::refused(
                Reason::Timeout,
                format!("hived has not ended within {} s", DAEMON.as_secs()),
            )
            .with_hint("a second `hive down` forces it"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// A pidfd is readable once its process has ended.
fn has_ended(daemon: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(daemon, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    matches!(poll(&mut fds, Some(&now)), Ok(ready) if ready > 0)
}

async fn stop_agents(ctx: &Ctx) -> Result<(), CliError> {
    let calls = ctx.host_calls();
    let agents = calls.agents().await?;
    let running: Vec<&Agent> = agents.iter().filter(|a| a.desired != "stopped").collect();
    remember(&stopped_list(&ctx.home), &running)?;
    for agent in &running {
        let request = StopAgentRequest {
            name: agent.name.clone(),
            now: false,
        };
        calls.stop_agent(request).await?;
    }
    until_stopped(&calls, &running).await
}

/// Written before the first stop, so that a `hive down` that dies half-way forgets nobody.
fn remember(list: &Path, running: &[&Agent]) -> Result<(), CliError> {
    let mut names = super::up::stopped_before(list);
    names.extend(running.iter().map(|agent| agent.name.clone()));
    names.sort();
    names.dedup();
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    std::fs::write(list, text)
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", list.display())))
}

async fn until_stopped(calls: &CommandCalls, stopped: &[&Agent]) -> Result<(), CliError> {
    let mut progress = Progress::new();
    let begun = Instant::now();
    loop {
        let agents = calls.agents().await?;
        let left: Vec<&str> = agents
            .iter()
            .filter(|agent| stopped.iter().any(|s| s.name == agent.name))
            .filter(|agent| agent.state != "stopped")
            .map(|agent| agent.name.as_str())
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let names = left.join(", ");
        if begun.elapsed() > AGENTS {
            progress.clear();
            return Err(CliError::refused(
                Reason::Timeout,
                format!("not stopped within {} s: {names}", AGENTS.as_secs()),
            )
            .with_hint("`hive agent stop NAME --now` kills one; hived still runs"));
        }
        progress.set(&format!("stopping {names}"));
        tokio::time::sleep(LOOK).await;
    }
}
