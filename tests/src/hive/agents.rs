//! What a test hive's agents are doing, and waiting until they do.

use std::path::PathBuf;
use std::time::Duration;

use hive_proto::v1::AgentRef;

use super::TestHive;
use crate::daemon::{Daemon, marked};
use crate::session::Session;
use crate::wait::{SOON, until};

impl TestHive {
    /// The path of an agent's socket, once it is there.
    pub async fn broker_socket(&self, name: &str) -> PathBuf {
        let socket = self.agent_sockets(name).join("broker.sock");
        until("the agent's socket is there", SOON, || {
            std::future::ready(socket.exists().then_some(()))
        })
        .await;
        socket
    }

    /// Opens a session on an agent's socket, as its harness would, once the socket is there.
    pub async fn session(&self, name: &str) -> Session {
        self.broker_socket(name).await;
        Session::open(self.agent(name)).await.expect("a session")
    }

    /// Processes of this hive's agents (`process` runtime).
    #[must_use]
    pub fn agent_processes(&self) -> Vec<u32> {
        let run = self.run_dir();
        let hived = self.daemon.as_ref().map(Daemon::pid);
        marked(run.to_str().unwrap_or_default())
            .into_iter()
            .filter(|pid| Some(*pid) != hived)
            .collect()
    }

    /// The shown state of an agent.
    pub async fn state(&self, name: &str) -> String {
        let request = AgentRef {
            name: name.to_owned(),
        };
        match self.operator().get_agent(request).await {
            Ok(agent) => agent.into_inner().state,
            Err(status) => format!("error: {status}"),
        }
    }

    /// Waits until the agent's process runs.
    pub async fn until_started(&self, name: &str) {
        until("its process runs", SOON, || async {
            let request = AgentRef {
                name: name.to_owned(),
            };
            let agent = self.operator().get_agent(request).await.ok()?.into_inner();
            let id = agent.runtime_id;
            (!id.is_empty() && !id.starts_with("new:")).then_some(())
        })
        .await;
    }

    /// Waits until the agent is shown in `state`.
    pub async fn until_state(&self, name: &str, state: &str, limit: Duration) {
        let last = std::sync::Mutex::new(String::new());
        let what = format!("{name} is {state}");
        let look = || async {
            let now = self.state(name).await;
            let found = (now == state).then_some(());
            *last.lock().expect("no panic before") = now;
            found
        };
        until(&what, limit, look).await;
    }
}
