//! A hive whose `hived` runs in the test's own process, by a clock that the test moves. Its sockets are
//! real, so the `hive` command works on it; a production `hived` takes no other clock than the host's.

use std::time::Duration;

use hive_proto::ids::UnixMs;
use hived::app::App;
use hived::clock::ManualClock;
use hived::config::{Config, Flags, RuntimeKind};
use hived::hive::Hive;
use hived::shutdown::Tasks;
use tokio::task::JoinSet;

use crate::builder::Setup;
use crate::hive::TestHive;
use crate::wait::{SOON, until};

/// The hive and its clock.
#[derive(Debug)]
pub struct ClockedHive {
    pub hive: TestHive,
    time: ManualClock,
    running: Option<Running>,
}

struct Running {
    services: Hive,
    tasks: Tasks,
    serving: JoinSet<()>,
}

// === impl Running ===

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

// === impl ClockedHive ===

impl ClockedHive {
    /// Starts one whose wall clock says `now`.
    pub async fn start(setup: Setup, now: &str) -> Self {
        let mut hive = Self {
            hive: setup.prepare(),
            time: ManualClock::starting_at(moment(now)),
            running: None,
        };
        hive.resume().await;
        hive
    }

    /// Starts `hived` again after [`Self::stop`].
    pub async fn resume(&mut self) {
        assert!(self.running.is_none(), "hived runs already");
        let flags = Flags {
            home: Some(self.hive.home()),
            run: Some(self.hive.run_dir()),
            listen: "127.0.0.1:0".parse().ok(),
            config: None,
            runtime: Some(RuntimeKind::Process),
        };
        let config = Config::load(flags).expect("the kit writes a sound hive.toml");
        let tasks = Tasks::default();
        let app = App::build_at(config, self.time.clock(), tasks.clone())
            .await
            .expect("hived starts");
        let services = app.hive().clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            app.run().await.expect("hived serves");
        });
        self.running = Some(Running {
            services,
            tasks,
            serving,
        });
        let socket = self.hive.operator_socket();
        until("hived serves", SOON, || async {
            crate::hive::answers(&socket).await.then_some(())
        })
        .await;
    }

    /// Ends `hived`, as TERM does.
    pub async fn stop(&mut self) {
        let mut running = self.running.take().expect("hived runs");
        running.tasks.stop();
        drop(running.services);
        let ended = tokio::time::timeout(Duration::from_secs(30), running.serving.join_next());
        ended
            .await
            .expect("hived ends")
            .expect("it ran")
            .expect("it ended well");
    }

    /// Sets the wall clock and has everything that this makes due done.
    pub async fn at(&self, now: &str) {
        self.time.set_wall(moment(now));
        self.settle().await;
    }

    /// Sets the wall clock, as an administrator does while nobody looks.
    pub fn set(&self, now: &str) {
        self.time.set_wall(moment(now));
    }

    /// Has what is due now done.
    pub async fn settle(&self) {
        let running = self.running.as_ref().expect("hived runs");
        for name in ["approvals", "intents", "schedules"] {
            running.services.reconcilers.run_now(name).await;
        }
    }
}

fn moment(text: &str) -> UnixMs {
    let at: jiff::Timestamp = text.parse().expect("a time in RFC 3339");
    UnixMs(at.as_millisecond())
}
