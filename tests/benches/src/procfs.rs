//! What the kernel says of a process.

use std::path::Path;

/// Processor time, memory and writes so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub cpu_secs: f64,
    pub rss_mib: f64,
    /// Shared pages count by their share.
    pub pss_mib: f64,
    pub written: u64,
}

/// Ticks of a second in /proc: the kernel's USER_HZ, the same on every machine that hive runs on.
const TICKS: f64 = 100.0;

/// Looks at `pid`; zeros when it is gone.
#[must_use]
pub fn usage(pid: u32) -> Usage {
    let read =
        |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let field = |text: &str, name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        value.unwrap_or(0)
    };
    let stat = read("stat");
    // The name in brackets may hold anything; fields are counted behind it.
    let behind = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = behind
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum();
    Usage {
        cpu_secs: ticks / TICKS,
        rss_mib: field(&read("status"), "VmRSS:") as f64 / 1024.0,
        pss_mib: field(&read("smaps_rollup"), "Pss:") as f64 / 1024.0,
        written: field(&read("io"), "write_bytes:"),
    }
}

/// Bytes of all files below `folder`.
#[must_use]
pub fn bytes_below(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => sum += meta.len(),
                Err(_) => {}
            }
        }
    }
    sum
}
