//! One running Claude Code: its three pipes pumped together, its end bounded.
//!
//! No task of its own: whoever awaits [`Process::next`] moves bytes in all three directions, so that
//! a full pipe in one cannot block another.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep_until, timeout};

use super::facts::Death;
use super::launch::Launch;
use super::lines::{LINE_BYTES, LineSplitter, RawLine};
use super::session::Session;
use crate::proc::{Children, Group};

/// What is kept of stderr: its end.
const STDERR_BYTES: usize = 8 * 1024;

/// How long output is still read after the process has exited: a grandchild may hold the pipe.
const DRAIN: Duration = Duration::from_millis(500);

/// How long a process that was asked to end may take, before the next harder way.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
const TERM_GRACE: Duration = Duration::from_secs(2);
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// What comes out of a process.
#[derive(Debug)]
pub(super) enum Output {
    Line(RawLine),
    Ended(Death),
}

/// A running process.
#[derive(Debug)]
pub(super) struct Process {
    group: Group,
    stdin: Option<ChildStdin>,
    outbox: VecDeque<u8>,
    stdout: Pipe<ChildStdout>,
    stderr: Pipe<ChildStderr>,
    lines: LineSplitter,
    stderr_tail: Vec<u8>,
    exited: Option<(ExitStatus, Instant)>,
}

/// The reading end of a pipe, with its buffer.
#[derive(Debug)]
struct Pipe<R> {
    from: Option<R>,
    buffer: Box<[u8]>,
}

/// One thing that happened.
enum Moved {
    Stdout(usize),
    Stderr(usize),
    Stdin(std::io::Result<usize>),
    Exited(std::io::Result<ExitStatus>),
    DrainOver,
}

// === impl Pipe ===

impl<R: tokio::io::AsyncRead + Unpin> Pipe<R> {
    fn new(from: Option<R>, size: usize) -> Self {
        Self {
            from,
            buffer: vec![0; size].into_boxed_slice(),
        }
    }

    /// Bytes read into the buffer; 0 at the end. An error is an end too: the process is gone.
    async fn read(&mut self) -> usize {
        match &mut self.from {
            Some(from) => from.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }
}

// === impl Process ===

impl Process {
    /// Starts the program in a process group of its own.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn spawn(
        children: &Children,
        launch: &Launch,
        session: &Session,
    ) -> std::io::Result<Self> {
        let mut command = Command::new(&launch.program);
        command
            .args(launch.args_for(session))
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&launch.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = children.spawn_group(&mut command)?;
        let child = group.child();
        Ok(Self {
            stdin: child.stdin.take(),
            outbox: VecDeque::new(),
            stdout: Pipe::new(child.stdout.take(), 64 * 1024),
            stderr: Pipe::new(child.stderr.take(), 4 * 1024),
            lines: LineSplitter::new(LINE_BYTES),
            stderr_tail: Vec::new(),
            exited: None,
            group,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        self.exited.is_none() && matches!(self.group.child().try_wait(), Ok(None))
    }

    /// Queues one line for stdin; [`Process::next`] writes it.
    pub(super) fn send(&mut self, line: &Value) {
        self.outbox.extend(line.to_string().as_bytes());
        self.outbox.push_back(b'\n');
    }

    /// The next line, or the end. Safe to drop while it waits: nothing is lost.
    pub(super) async fn next(&mut self) -> Output {
        loop {
            if let Some(line) = self.lines.pop() {
                return Output::Line(line);
            }
            if let Some(death) = self.death() {
                return Output::Ended(death);
            }
            match self.move_bytes().await {
                Moved::Stdout(0) => {
                    self.stdout.from = None;
                    self.lines.end();
                }
                Moved::Stdout(count) => self.lines.feed(&self.stdout.buffer[..count]),
                Moved::Stderr(0) => self.stderr.from = None,
                Moved::Stderr(count) => self.keep_stderr(count),
                Moved::Stdin(Ok(count)) => drop(self.outbox.drain(..count)),
                Moved::Stdin(Err(_)) => self.stdin = None,
                Moved::Exited(status) => {
                    let status = status.unwrap_or_else(|_| ExitStatus::from_raw(0));
                    self.exited = Some((status, Instant::now()));
                }
                Moved::DrainOver => {
                    self.stdout.from = None;
                    self.stderr.from = None;
                    self.lines.end();
                }
            }
        }
    }

    /// Ends it gently: end of input, then TERM, then KILL. Bounded.
    pub(super) async fn close(&mut self) {
        if !self.outbox.is_empty() {
            // A half-written line would be taken for a whole one.
            self.outbox.clear();
        }
        self.stdin = None;
        if timeout(CLOSE_GRACE, self.run_out()).await.is_ok() {
            return;
        }
        self.group.kill(TERM_GRACE).await;
        self.kill().await;
    }

    /// Ends it at once, with everything that it started.
    pub(super) async fn kill(&mut self) -> Death {
        // Once it was waited for, its number may be somebody else's.
        if self.exited.is_none() {
            self.group.kill(Duration::ZERO).await;
        }
        // KILL cannot be refused; the bound is for a process stuck in the kernel.
        let ended = timeout(KILL_LIMIT, self.run_out()).await;
        ended.unwrap_or_else(|_| {
            tracing::warn!("claude does not end after KILL");
            Death::default()
        })
    }

    async fn run_out(&mut self) -> Death {
        loop {
            if let Output::Ended(death) = self.next().await {
                return death;
            }
        }
    }

    async fn move_bytes(&mut self) -> Moved {
        let drain_end = self.exited.map(|(_, at)| at + DRAIN);
        let (head, _) = self.outbox.as_slices();
        tokio::select! {
            count = self.stdout.read() => Moved::Stdout(count),
            count = self.stderr.read() => Moved::Stderr(count),
            written = write(self.stdin.as_mut(), head) => Moved::Stdin(written),
            status = self.group.child().wait(), if self.exited.is_none() => Moved::Exited(status),
            () = sleep_until(drain_end.unwrap_or_else(Instant::now)), if drain_end.is_some() => {
                Moved::DrainOver
            }
        }
    }

    fn death(&self) -> Option<Death> {
        let (status, _) = self.exited?;
        (!self.stdout.is_open() && !self.stderr.is_open()).then(|| Death {
            code: status.code(),
            signal: status.signal(),
            stderr: String::from_utf8_lossy(&self.stderr_tail).trim().to_owned(),
        })
    }

    fn keep_stderr(&mut self, count: usize) {
        self.stderr_tail
            .extend_from_slice(&self.stderr.buffer[..count]);
        let excess = self.stderr_tail.len().saturating_sub(STDERR_BYTES);
        self.stderr_tail.drain(..excess);
    }
}

/// Writes what it can; waits for ever when there is nothing to write or nowhere to.
async fn write(to: Option<&mut ChildStdin>, bytes: &[u8]) -> std::io::Result<usize> {
    match to {
        Some(to) if !bytes.is_empty() => to.write(bytes).await,
        _ => std::future::pending().await,
    }
}
