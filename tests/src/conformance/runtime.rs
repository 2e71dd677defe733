//! The contract of `Runtime`, as its trait's documentation states it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use hive_proto::ids::AgentId;
use hived::runtime::{Instance, Limits, LogOptions, Mounts, Runtime, RuntimeError, Spec, Status};

use crate::wait::{SOON, until};

/// Stands in for `hive`: says who it is, leaves a child behind, does what files in `/state` tell it.
const STUB: &str = r#"#!/bin/bash
state=${HIVE_STATE_DIR:-/state}
echo "one $HIVE_AGENT"
echo two
if [ -e "$state/exit" ]; then exit "$(cat "$state/exit")"; fi
sleep 1000 &
echo "$!" >"$state/child"
[ -e "$state/stubborn" ] && trap '' TERM
echo three
wait
wait
"#;

/// A runtime on the bench, with the directories of its agents.
#[derive(Debug)]
pub struct Bench {
    pub runtime: Arc<dyn Runtime>,
    /// A folder for this run alone.
    pub folder: PathBuf,
    /// Makes names differ from those of other runs on the same engine.
    pub suffix: String,
    /// Owner of what is mounted.
    pub uid: u32,
}

/// Runs everything.
pub async fn all(bench: &Bench) {
    a_life_from_create_to_remove(bench).await;
    creating_again_is_the_same_and_drift_is_refused(bench).await;
    an_exit_is_told_with_its_code(bench).await;
    a_stop_ends_even_the_stubborn(bench).await;
    output_comes_oldest_first(bench).await;
    what_is_gone_is_not_found(bench).await;
    other_hives_are_not_listed(bench).await;
}

async fn a_life_from_create_to_remove(bench: &Bench) {
    let spec = bench.spec("life", 1);
    let id = bench.runtime.create(&spec).await.expect("create");
    let made = bench.find(&spec).await.expect("it is listed once made");
    assert_eq!(
        (made.id.as_str(), made.status),
        (id.as_str(), Status::Created)
    );
    assert_eq!(made.agent_id, spec.agent_id);
    assert_eq!(made.spec_hash, bench.runtime.spec_hash(&spec));
    bench.runtime.start(&id).await.expect("start");
    bench
        .runtime
        .start(&id)
        .await
        .expect("start again changes nothing");
    bench
        .until_status(&spec, |status| *status == Status::Running)
        .await;
    bench.stop(&id).await;
    bench.stop(&id).await;
    bench
        .until_status(&spec, |status| matches!(status, Status::Exited(_)))
        .await;
    bench.runtime.start(&id).await.expect("start after a stop");
    bench
        .until_status(&spec, |status| *status == Status::Running)
        .await;
    bench.stop(&id).await;
    bench.runtime.remove(&id).await.expect("remove");
    bench
        .runtime
        .remove(&id)
        .await
        .expect("remove again changes nothing");
    assert!(bench.find(&spec).await.is_none(), "still listed");
}

async fn creating_again_is_the_same_and_drift_is_refused(bench: &Bench) {
    let spec = bench.spec("again", 2);
    let id = bench.runtime.create(&spec).await.expect("create");
    assert_eq!(bench.runtime.create(&spec).await.expect("create again"), id);
    let mut other = spec.clone();
    other.env.push(("Z_EXTRA".to_owned(), "1".to_owned()));
    assert_ne!(
        bench.runtime.spec_hash(&other),
        bench.runtime.spec_hash(&spec)
    );
    assert!(
        bench.runtime.create(&other).await.is_err(),
        "a drifted one was taken for the same"
    );
    bench.runtime.remove(&id).await.expect("remove");
}

async fn an_exit_is_told_with_its_code(bench: &Bench) {
    let spec = bench.spec("exits", 3);
    std::fs::write(spec.mounts.state.join("exit"), "7").expect("a file");
    let id = bench.runtime.create(&spec).await.expect("create");
    let mut events = bench.runtime.events().await.expect("events");
    bench.runtime.start(&id).await.expect("start");
    let died = async {
        while let Some(changed) = events.next().await {
            if changed.agent_id == spec.agent_id && changed.what == "die" {
                return;
            }
        }
        panic!("the events ended");
    };
    tokio::time::timeout(SOON, died)
        .await
        .expect("its death is told");
    let ended = bench
        .until_status(&spec, |status| matches!(status, Status::Exited(_)))
        .await;
    let Status::Exited(exit) = ended.status else {
        panic!("checked above")
    };
    assert_eq!((exit.code, exit.out_of_memory), (7, false));
    bench.runtime.remove(&id).await.expect("remove");
}

async fn a_stop_ends_even_the_stubborn(bench: &Bench) {
    let spec = bench.spec("stubborn", 4);
    std::fs::write(spec.mounts.state.join("stubborn"), "").expect("a file");
    let id = bench.runtime.create(&spec).await.expect("create");
    bench.runtime.start(&id).await.expect("start");
    let child = spec.mounts.state.join("child");
    until("its child runs", SOON, || {
        std::future::ready(child.exists().then_some(()))
    })
    .await;
    let start = std::time::Instant::now();
    bench.stop(&id).await;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    bench
        .until_status(&spec, |status| matches!(status, Status::Exited(_)))
        .await;
    let marked = crate::daemon::marked(&format!("HIVE_AGENT={}", spec.name.as_str()));
    assert_eq!(marked, Vec::<u32>::new(), "left behind");
    bench.runtime.remove(&id).await.expect("remove");
}

async fn output_comes_oldest_first(bench: &Bench) {
    let spec = bench.spec("talks", 5);
    let id = bench.runtime.create(&spec).await.expect("create");
    bench.runtime.start(&id).await.expect("start");
    let name = spec.name.as_str();
    let all = bench.until_lines(&id, 50, 3).await;
    assert_eq!(
        all,
        [format!("one {name}"), "two".to_owned(), "three".to_owned()]
    );
    assert_eq!(bench.until_lines(&id, 1, 1).await, ["three"]);
    bench.stop(&id).await;
    bench.runtime.remove(&id).await.expect("remove");
}

async fn what_is_gone_is_not_found(bench: &Bench) {
    let spec = bench.spec("gone", 6);
    let id = bench.runtime.create(&spec).await.expect("create");
    bench.runtime.remove(&id).await.expect("remove");
    let started = bench.runtime.start(&id).await;
    assert!(
        matches!(started, Err(RuntimeError::NotFound(_))),
        "{started:?}"
    );
    // Nothing to stop: that is said or passed over, never another failure.
    let stopped = bench.runtime.stop(&id, Duration::from_secs(1)).await;
    assert!(
        matches!(stopped, Ok(()) | Err(RuntimeError::NotFound(_))),
        "{stopped:?}"
    );
}

async fn other_hives_are_not_listed(bench: &Bench) {
    // An engine is shared by hives; plain children are their own hive's alone.
    if !bench.runtime.isolated() {
        return;
    }
    let mut spec = bench.spec("other", 7);
    spec.hive_id = format!("another-{}", bench.suffix);
    let id = bench.runtime.create(&spec).await.expect("create");
    assert!(
        bench.find(&spec).await.is_none(),
        "another hive's agent is listed"
    );
    bench.runtime.remove(&id).await.expect("remove");
}

// === impl Bench ===

impl Bench {
    /// Directories, owned as hived leaves them.
    fn spec(&self, name: &str, agent: i64) -> Spec {
        let name = format!("{name}-{}", self.suffix);
        let base = self.folder.join(&name);
        let make = |part: &str| {
            let path = base.join(part);
            std::fs::create_dir_all(&path).expect("a directory");
            let mode = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(&path, mode).expect("its mode");
            give(&path, self.uid);
            path
        };
        Spec {
            agent_id: AgentId(agent),
            name: name.parse().expect("a name"),
            engine: "scripted".to_owned(),
            uid: self.uid,
            image: "hive-agent:latest".to_owned(),
            hive: self.stub(),
            mounts: Mounts {
                sockets: make("sockets"),
                terminal: make("terminal"),
                state: make("state"),
                home: make("home"),
                harness: make("harness"),
                engines: None,
            },
            env: vec![("HIVE_AGENT".to_owned(), name)],
            limits: Limits {
                memory_bytes: 256 << 20,
                cpu_milli: 1000,
                pids: 64,
                nofile: 1024,
                log_bytes: 1 << 20,
                log_files: 1,
            },
            config_sha: String::new(),
            hive_id: self.suffix.clone(),
        }
    }

    fn stub(&self) -> PathBuf {
        let path = self.folder.join("stub");
        if !path.exists() {
            std::fs::write(&path, STUB).expect("the stub");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("its mode");
        }
        path
    }

    async fn find(&self, spec: &Spec) -> Option<Instance> {
        let all = self.runtime.list().await.expect("list");
        all.into_iter().find(|instance| instance.name == spec.name)
    }

    async fn until_status(&self, spec: &Spec, is: impl Fn(&Status) -> bool) -> Instance {
        until("it is in the state", SOON, || async {
            self.find(spec)
                .await
                .filter(|instance| is(&instance.status))
        })
        .await
    }

    async fn until_lines(&self, id: &str, tail: u32, count: usize) -> Vec<String> {
        until("it has said so much", SOON, || async {
            let options = LogOptions {
                tail,
                follow: false,
            };
            let stream = self.runtime.logs(id, options).await.expect("logs");
            let lines: Vec<String> = stream.map(|line| line.expect("a line")).collect().await;
            (lines.len() >= count).then_some(lines)
        })
        .await
    }

    async fn stop(&self, id: &str) {
        let grace = Duration::from_secs(2);
        self.runtime.stop(id, grace).await.expect("stop");
    }
}

/// What hived does for a container's user; without root everything is this user's already.
fn give(path: &Path, uid: u32) {
    if rustix::process::getuid().is_root() {
        std::os::unix::fs::chown(path, Some(uid), Some(uid)).expect("the owner");
    }
}
