//! `hived` below strace: killed or failed at its n-th system call of a kind.

use std::path::Path;

/// What happens at the chosen system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed as it enters the call.
    Kill,
    /// The call fails with this error, e.g. `EIO`.
    Error(&'static str),
}

/// Which of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The n-th only, from 1.
    Nth(u32),
    /// The n-th and all after it.
    From(u32),
}

/// The wrapper's command line for one fault at `calls` (e.g. `fdatasync,fsync`).
#[must_use]
pub fn inject(calls: &str, fault: Fault, when: When) -> Vec<String> {
    strings(&[
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={calls}"),
        "-e",
        &injection(calls, fault, when),
    ])
}

fn injection(calls: &str, fault: Fault, when: When) -> String {
    let what = match fault {
        Fault::Kill => "signal=SIGKILL".to_owned(),
        Fault::Error(name) => format!("error={name}"),
    };
    let when = match when {
        When::Nth(n) => format!("{n}"),
        When::From(n) => format!("{n}+"),
    };
    format!("inject={calls}:{what}:when={when}")
}

/// The wrapper's command line that writes `calls` with time and strings to `output`.
#[must_use]
pub fn record(calls: &str, output: &Path) -> Vec<String> {
    strings(&[
        "strace",
        "-f",
        "-qq",
        "-y",
        "-s",
        "4096",
        "-o",
        output.to_str().unwrap_or_default(),
        "-e",
        &format!("trace={calls}"),
    ])
}

/// The program below a tracer: its only child.
#[must_use]
pub fn tracee(tracer: u32) -> Option<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{tracer}/task/{tracer}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// A tracer on a running process: its calls fail until this is dropped. Children that it had before
/// are left alone, so nothing but the process itself keeps the tracer alive.
#[derive(Debug)]
pub struct Attached(std::process::Child);

// === impl Attached ===

impl Attached {
    /// Makes every one of `calls` of `pid` fail with `error`, from when this returns.
    pub async fn failing(pid: u32, calls: &str, error: &'static str) -> Self {
        Self::at(pid, calls, Fault::Error(error), When::From(1)).await
    }

    /// Does the same to some of `calls`, or kills it there. The calls of each thread are counted alone.
    pub async fn at(pid: u32, calls: &str, fault: Fault, when: When) -> Self {
        let child = std::process::Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-p", &pid.to_string()])
            .args(["-e", &format!("trace={calls}")])
            .args(["-e", &injection(calls, fault, when)])
            .spawn()
            .expect("strace is installed");
        let attached = Self(child);
        crate::wait::until("strace traces every thread", crate::wait::SOON, || async {
            threads_traced(pid).then_some(())
        })
        .await;
        attached
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // It ends with its tracee; one that is still there detaches when it is killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn threads_traced(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    let mut tasks = tasks.flatten().peekable();
    tasks.peek().is_some()
        && tasks.all(|task| {
            std::fs::read_to_string(task.path().join("status")).is_ok_and(|status| {
                status
                    .lines()
                    .any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
            })
        })
}
