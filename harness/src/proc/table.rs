//! What `/proc` shows, and which of it belongs together.

use std::collections::{BTreeSet, HashMap};

use rustix::process::Pid;

/// One process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// Process group.
    pub(super) group: u32,
    /// In clock ticks since boot: with the pid it names a process for good.
    pub(super) started: u64,
    pub(super) zombie: bool,
}

/// Living descendants of `root`, without `keep`; below a kept one the search goes on.
pub(super) fn below(all: &[Seen], root: u32, keep: &[u32]) -> Vec<Seen> {
    let mut children: HashMap<u32, Vec<Seen>> = HashMap::new();
    for seen in all {
        children.entry(seen.parent).or_default().push(*seen);
    }
    let mut found = Vec::new();
    let mut queue = vec![root];
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            queue.push(child.pid);
            if !child.zombie && !keep.contains(&child.pid) {
                found.push(child);
            }
        }
    }
    found
}

/// What lives of a tree: the root, what hangs below it or below one of the `known` members, and its
/// group, which also holds what a member forked while it died. Parents come before children: a parent
/// that is still alive could fork again.
pub(super) fn belonging(all: &[Seen], root: &Seen, known: &[Seen]) -> Vec<Seen> {
    let leads = root.group == root.pid;
    let mut found: Vec<Seen> = Vec::new();
    for seen in all {
        let same = |other: &Seen| other.pid == seen.pid && other.started == seen.started;
        let in_group = leads && seen.group == root.pid && seen.started >= root.started;
        if same(root) || in_group || known.iter().any(same) {
            found.push(*seen);
            found.extend(below(all, seen.pid, &[]));
        }
    }
    found.retain(|seen| !seen.zombie);
    let mut once = BTreeSet::new();
    found.retain(|seen| once.insert(seen.pid));
    found
}

pub(super) fn processes() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

pub(super) fn read(pid: u32) -> Option<Seen> {
    parse(
        pid,
        &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
    )
}

/// One line of `/proc/<pid>/stat` (proc(5)). The name is in parentheses and may hold anything.
fn parse(pid: u32, stat: &str) -> Option<Seen> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let state = *fields.first()?;
    Some(Seen {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        zombie: matches!(state, "Z" | "X" | "x"),
    })
}

pub(super) fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::{Seen, belonging, below, parse};

    fn seen(pid: u32, parent: u32) -> Seen {
        Seen {
            pid,
            parent,
            group: parent,
            started: 1,
            zombie: false,
        }
    }

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let stat = "7 (a) R 1 (b)) S 3 6 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        assert_eq!(
            parse(7, stat),
            Some(Seen {
                pid: 7,
                parent: 3,
                group: 6,
                started: 4711,
                zombie: false
            })
        );
        assert_eq!(parse(7, ""), None);
    }

    #[test]
    fn what_hangs_below_a_kept_process_is_found() {
        let all = [seen(2, 1), seen(3, 2), seen(4, 3), seen(9, 8)];
        let pids = |keep: &[u32]| {
            let mut pids: Vec<u32> = below(&all, 1, keep).iter().map(|seen| seen.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(&[]), [2, 3, 4]);
        assert_eq!(pids(&[2]), [3, 4]);
        assert_eq!(pids(&[3]), [2, 4]);
    }
    #[test]
    fn a_tree_holds_its_group_and_what_its_members_left() {
        let in_group = |pid, parent, group| Seen {
            group,
            ..seen(pid, parent)
        };
        // 10 leads; 11 is its child; 12 was forked by a member that is gone; 13 left the group and is
        // known; 14 hangs below 13; 15 is a stranger.
        let all = [
            in_group(10, 1, 10),
            in_group(11, 10, 10),
            in_group(12, 1, 10),
            in_group(13, 1, 13),
            in_group(14, 13, 13),
            in_group(15, 1, 15),
        ];
        let pids = |known: &[Seen]| {
            let found = belonging(&all, &all[0], known);
            let mut pids: Vec<u32> = found.iter().map(|seen| seen.pid).collect();
            assert_eq!(pids[0], 10);
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(&[]), [10, 11, 12]);
        assert_eq!(pids(&[all[3]]), [10, 11, 12, 13, 14]);
    }
}
