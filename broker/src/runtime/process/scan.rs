//! Processes seen through `/proc`: who belongs to which agent, by environment, session and descent.

use std::collections::HashMap;
use std::path::Path;

/// Environment variable that names the agent.
pub(super) const MARK_AGENT: &str = "HIVE_AGENT";
/// Environment variable that names the hive: two hives on one host may have an agent of one name.
pub(super) const MARK_HIVE: &str = "HIVE_HIVE";
/// Environment variable with the agent's number.
pub(super) const MARK_ID: &str = "HIVE_AGENT_ID";
/// Environment variable with the hash of what it was made from.
pub(super) const MARK_SPEC: &str = "HIVE_SPEC";

/// One process that is not a zombie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Clock ticks since boot: with the pid it names one process for good.
    pub(super) started: u64,
}

/// Everything that runs now.
pub(super) fn processes() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(look)
        .collect()
}

/// One process; none when it is gone or a zombie.
pub(super) fn look(pid: i32) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// The line of proc(5): the name in parentheses may itself hold spaces and parentheses.
fn parse(pid: i32, stat: &str) -> Option<Seen> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let (state, parent) = (fields.first()?, fields.get(1)?);
    let (group, session) = (fields.get(2)?, fields.get(3)?);
    if matches!(*state, "Z" | "X") {
        return None;
    }
    Some(Seen {
        pid,
        parent: parent.parse().ok()?,
        group: group.parse().ok()?,
        session: session.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The environment that a process was started with; empty when it may not be read.
pub(super) fn environment(pid: i32) -> HashMap<String, String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter_map(|pair| {
            let text = String::from_utf8_lossy(pair);
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Whether a process leads its session and was started as a harness.
pub(super) fn is_harness(seen: &Seen) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", seen.pid)).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    seen.session == seen.pid
        && words.get(1).is_some_and(|word| *word == b"serve")
        && words.contains(&&b"--child"[..])
}

/// Whether a process was started for the agent.
pub(super) fn is_agents(pid: i32, hive: &str, agent: &str) -> bool {
    let env = environment(pid);
    env.get(MARK_AGENT).is_some_and(|value| value == agent)
        && env.get(MARK_HIVE).is_some_and(|value| value == hive)
}

/// Those of `all` that belong together: marked, in the leader's session, or descended from one
/// that does. Never this process itself, and never one that merely bears the number that a dead
/// leader had.
pub(super) fn members(
    all: &[Seen],
    is_marked: impl Fn(&Seen) -> bool,
    leader: Option<&Seen>,
) -> Vec<Seen> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let session = leader.and_then(|leader| session_of(all, leader));
    let mut found: Vec<Seen> = Vec::new();
    let mut rest: Vec<&Seen> = all.iter().filter(|seen| seen.pid != own).collect();
    rest.retain(|seen| {
        let led = session.is_some_and(|number| number == seen.session || number == seen.pid);
        let ours = is_marked(seen) || led;
        if ours {
            found.push((*seen).clone());
        }
        !ours
    });
    loop {
        let before = found.len();
        rest.retain(|seen| {
            let child = found.iter().any(|parent| parent.pid == seen.parent);
            if child {
                found.push((*seen).clone());
            }
            !child
        });
        if found.len() == before {
            return found;
        }
    }
}

/// The number of the leader's session, unless it is another's by now. As long as one process of a
/// session lives the kernel gives its number to nobody, so whoever bears the number beside another
/// start time shows that nothing is left of it.
fn session_of(all: &[Seen], leader: &Seen) -> Option<i32> {
    let again = all
        .iter()
        .any(|seen| seen.pid == leader.pid && seen.started != leader.started);
    (!again).then_some(leader.pid)
}

/// Whether the process may be looked at at all: without `/proc` leftovers cannot be found.
pub(super) fn available() -> bool {
    Path::new("/proc/self/stat").exists()
}

#[cfg(test)]
mod tests {
    use super::{Seen, look, members, parse};

    /// Beyond every number that the kernel gives: nothing is read of such a process.
    const PID: i32 = 2_000_000_000;

    fn seen(pid: i32, parent: i32, session: i32, started: u64) -> Seen {
        Seen {
            pid,
            parent,
            group: session,
            session,
            started,
        }
    }

    fn pids(all: &[Seen], leader: Option<&Seen>) -> Vec<i32> {
        let found = members(all, |_| false, leader);
        found.into_iter().map(|seen| seen.pid).collect()
    }

    #[test]
    fn a_leader_its_session_and_their_children_belong_together() {
        let leader = seen(PID, 1, PID, 10);
        let all = [
            leader.clone(),
            seen(PID + 1, PID, PID, 11),
            seen(PID + 2, PID + 1, PID + 2, 12),
            seen(PID + 3, 1, 1, 13),
        ];
        assert_eq!(pids(&all, Some(&leader)), [PID, PID + 1, PID + 2]);
        // The leader is gone; what it left behind is still its own.
        assert_eq!(pids(&all[1..], Some(&leader)), [PID + 1, PID + 2]);
        assert_eq!(pids(&all, None), [0; 0]);
    }

    #[test]
    fn a_number_given_anew_is_somebody_elses() {
        let dead = seen(PID, 1, PID, 10);
        // Alone, as the leader of a session, and within a session of somebody else.
        for session in [PID, 1] {
            let all = [
                seen(PID, 1, session, 500),
                seen(PID + 1, PID, session, 501),
                seen(PID + 2, 1, session, 502),
            ];
            assert_eq!(pids(&all, Some(&dead)), [0; 0], "{session}");
        }
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "42 (a) b (c)) S 7 42 43 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        let expected = Seen {
            pid: 42,
            parent: 7,
            group: 42,
            session: 43,
            started: 987_654,
        };
        assert_eq!(parse(42, stat), Some(expected));
    }

    #[test]
    fn zombies_are_not_seen() {
        let stat = "42 (x) Z 7 42 43 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        assert_eq!(parse(42, stat), None);
    }

    #[test]
    fn this_process_is_seen_with_its_parent() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert_eq!(look(own).unwrap().parent, parent);
    }
}
