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
    let what = match fault {
        Fault::Kill => "signal=SIGKILL".to_owned(),
        Fault::Error(name) => format!("error={name}"),
    };
    let when = match when {
        When::Nth(n) => format!("{n}"),
        When::From(n) => format!("{n}+"),
    };
    strings(&[
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={calls}"),
        "-e",
        &format!("inject={calls}:{what}:when={when}"),
    ])
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
