//! The agents service on a runtime that the test plays.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use hive_proto::ids::AgentId;
use hived::agents::{Agents, Parts, Settings};
use hived::model::restart::Rule;
use hived::paths::Paths;
use hived::reconcile::Containers;
use hived::runtime::{
    Changed, Instance, Limits, LogOptions, Runtime, RuntimeError, Spec, Status, Trust,
};
use hived::sockets::{Door, Sockets};
use hived::store::Recipient;
use tokio::sync::mpsc;

use crate::kit::{Core, run};

/// Holds what the test puts in, and says what is asked of it.
#[derive(Debug)]
struct Played {
    held: Mutex<Vec<Instance>>,
    calls: mpsc::UnboundedSender<String>,
}

impl Played {
    fn call(&self, call: String) {
        self.calls.send(call).unwrap();
    }
}

#[async_trait::async_trait]
impl Runtime for Played {
    fn name(&self) -> &'static str {
        "played"
    }

    fn isolated(&self) -> bool {
        false
    }

    fn spec_hash(&self, _: &Spec) -> String {
        "hash".into()
    }

    async fn create(&self, spec: &Spec) -> Result<String, RuntimeError> {
        self.call(format!("create {}", spec.name));
        Ok(format!("made-{}", spec.name))
    }

    async fn start(&self, id: &str) -> Result<(), RuntimeError> {
        self.call(format!("start {id}"));
        Ok(())
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), RuntimeError> {
        self.call(format!("stop {id} {}", grace.as_secs()));
        Ok(())
    }

    async fn remove(&self, id: &str) -> Result<(), RuntimeError> {
        self.call(format!("remove {id}"));
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Instance>, RuntimeError> {
        Ok(self.held.lock().unwrap().clone())
    }

    async fn logs(
        &self,
        _: &str,
        _: LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RuntimeError>>, RuntimeError> {
        Ok(stream::empty().boxed())
    }

    async fn events(&self) -> Result<BoxStream<'static, Changed>, RuntimeError> {
        Ok(stream::pending().boxed())
    }
}

struct Bench {
    core: Core,
    runtime: Arc<Played>,
    calls: mpsc::UnboundedReceiver<String>,
    containers: Containers,
    /// Held, so that sockets are taken.
    _doors: mpsc::UnboundedReceiver<Door>,
}

impl Bench {
    fn new() -> Self {
        let core = Core::new();
        let (sender, calls) = mpsc::unbounded_channel();
        let runtime = Arc::new(Played {
            held: Mutex::default(),
            calls: sender,
        });
        let home = core.dir.path();
        let paths = Paths::new(home.join("h"), home.join("r")).unwrap();
        let uid = rustix::process::getuid().as_raw();
        std::fs::create_dir_all(paths.home()).unwrap();
        std::fs::create_dir_all(paths.run()).unwrap();
        let (sockets, doors) = Sockets::new(paths.clone(), uid);
        let agents = Agents::new(Parts {
            settings: settings(paths, uid),
            store: core.store.clone(),
            clock: core.time.clock(),
            tasks: core.tasks.clone(),
            sessions: core.sessions.clone(),
            sockets,
            runtime: runtime.clone(),
        });
        Self {
            containers: Containers::new(agents),
            _doors: doors,
            core,
            runtime,
            calls,
        }
    }

    fn hold(&self, instances: &[Instance]) {
        *self.runtime.held.lock().unwrap() = instances.to_vec();
    }

    async fn call(&mut self) -> String {
        let call = tokio::time::timeout(Duration::from_secs(20), self.calls.recv());
        call.await.unwrap().unwrap()
    }

    async fn count(&self, kind: &str) -> usize {
        let kinds = self.core.kinds_or_none().await;
        kinds.iter().filter(|one| *one == kind).count()
    }
}

fn settings(paths: Paths, uid: u32) -> Settings {
    Settings {
        paths,
        hive_id: "cafe".into(),
        image: String::new(),
        uid,
        engine: "scripted".into(),
        model: "m".into(),
        context_window_tokens: 1,
        limits: Limits {
            memory_bytes: 1,
            cpu_milli: 1,
            pids: 1,
            nofile: 1,
            log_bytes: 1,
            log_files: 1,
        },
        hive: "/bin/true".into(),
        trust: Trust::ScriptedOnly,
        grace: Duration::from_secs(10),
        rule: Rule::default(),
    }
}

fn instance(id: i64, name: &str, status: Status) -> Instance {
    Instance {
        id: format!("x-{name}"),
        name: name.parse().unwrap(),
        agent_id: AgentId(id),
        status,
        spec_hash: "hash".into(),
        hive: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_database_does_not_know_is_told_once_and_ended() {
    let mut bench = Bench::new();
    bench.hold(&[
        instance(77, "late", Status::Running),
        instance(78, "later", Status::Created),
    ]);
    for _ in 0..3 {
        assert_eq!(run(&bench.containers).await.get("orphans"), 2);
    }
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(bench.call().await);
    }
    calls.sort();
    let expected = [
        "remove x-late",
        "remove x-later",
        "stop x-late 0",
        "stop x-later 0",
    ];
    assert_eq!(calls, expected);
    assert_eq!(bench.count("agent.orphan_ended").await, 2);
    let told = bench.core.mail(Recipient::Operator).await;
    assert_eq!(told.len(), 1, "{told:?}");
    for word in ["late (agent 77)", "later (agent 78)", "older backup"] {
        assert!(told[0].1.contains(word), "{told:?}");
    }
    // Gone, and there once more: that is another one.
    bench.hold(&[]);
    assert_eq!(run(&bench.containers).await.get("orphans"), 0);
    bench.hold(&[instance(77, "late", Status::Running)]);
    run(&bench.containers).await;
    assert_eq!(bench.count("agent.orphan_ended").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_was_given_anew_makes_nobody_elses_container_ones_own() {
    let mut bench = Bench::new();
    let scout = bench.core.agent("scout").await;
    bench.hold(&[instance(scout.0, "old", Status::Running)]);
    run(&bench.containers).await;
    let mut calls = Vec::new();
    while !(calls.contains(&"remove x-old".to_owned())
        && calls.contains(&"start made-scout".to_owned()))
    {
        calls.push(bench.call().await);
        // Its driver looks again when the look says so.
        run(&bench.containers).await;
        assert!(calls.len() < 20, "{calls:?}");
    }
    assert!(calls.contains(&"stop x-old 0".to_owned()), "{calls:?}");
    assert_eq!(bench.count("agent.orphan_ended").await, 1);
    bench.core.tasks.stop();
}
