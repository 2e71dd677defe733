//! The daemon of a test hive: started, killed, ended.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hive_proto::v1::GetStatusRequest;
use rustix::process::Signal;

use super::{TestHive, tail};
use crate::client;
use crate::daemon::{Daemon, Ended};
use crate::wait::SOON;

impl TestHive {
    /// Starts `hived` and waits until it serves.
    pub async fn start(&mut self) {
        let command = self.hived_command();
        self.start_as(command).await;
    }

    /// Starts `command` as this hive's daemon and waits until it serves.
    pub async fn start_as(&mut self, command: Command) {
        self.spawn(command);
        self.ready().await;
    }

    /// Starts `command` as this hive's daemon without waiting.
    pub fn spawn(&mut self, command: Command) {
        assert!(self.daemon.is_none(), "hived runs already");
        self.daemon = Some(Daemon::start(command, &self.log_path()));
    }

    /// Waits until the operator socket answers.
    pub async fn ready(&mut self) {
        let socket = self.operator_socket();
        let log = self.log_path();
        let daemon = self.daemon.as_mut().expect("hived was started");
        let start = std::time::Instant::now();
        loop {
            if answers(&socket).await {
                return;
            }
            if let Some(ended) = daemon.ended() {
                panic!("hived ended at its start: {ended:?}\n{}", tail(&log, 40));
            }
            assert!(
                start.elapsed() < SOON,
                "hived does not serve\n{}",
                tail(&log, 40)
            );
            crate::wait::pass(Duration::from_millis(20)).await;
        }
    }

    /// The daemon's process.
    #[must_use]
    pub fn daemon(&mut self) -> &mut Daemon {
        self.daemon.as_mut().expect("hived runs")
    }

    /// `kill -9` of `hived`.
    pub async fn kill(&mut self) {
        let mut daemon = self.daemon.take().expect("hived runs");
        daemon.kill().await;
    }

    /// TERM, and how it ended.
    pub async fn terminate(&mut self) -> Ended {
        let mut daemon = self.daemon.take().expect("hived runs");
        daemon.signal(Signal::TERM);
        daemon.end(Duration::from_secs(15)).await
    }

    /// Waits for `hived` to end by itself.
    pub async fn ended(&mut self, limit: Duration) -> Ended {
        let mut daemon = self.daemon.take().expect("hived runs");
        daemon.end(limit).await
    }

    /// `kill -9` and a new start.
    pub async fn restart(&mut self) {
        self.kill().await;
        self.start().await;
    }
}

pub(crate) async fn answers(socket: &Path) -> bool {
    socket.exists()
        && client::operator(socket)
            .get_status(GetStatusRequest {})
            .await
            .is_ok()
}
