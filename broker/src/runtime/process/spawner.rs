//! The thread that forks every harness.
//!
//! A child that asks to be ended with its parent is ended with the *thread* that forked it
//! (prctl(2), `PR_SET_PDEATHSIG`). The async runtime's threads come and go, so one thread that lives
//! as long as the runtime does all of it.

use std::sync::mpsc;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

type Job = (Command, Handle, oneshot::Sender<std::io::Result<Child>>);

/// Hands commands to the thread; the thread ends with the last handle.
#[derive(Clone, Debug)]
pub(super) struct Spawner(mpsc::Sender<Job>);

// === impl Spawner ===

impl Spawner {
    /// # Errors
    /// When the thread cannot be made.
    pub(super) fn new() -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("spawner".into())
            .spawn(move || {
                for (mut command, handle, reply) in jobs {
                    let _guard = handle.enter();
                    // Nobody waits any longer: the child was not wanted, and its drop kills it.
                    let _ = reply.send(command.kill_on_drop(true).spawn());
                }
            })?;
        Ok(Self(sender))
    }

    /// Starts `command`; dropping the child kills it.
    pub(super) async fn spawn(&self, command: Command) -> std::io::Result<Child> {
        let (sender, reply) = oneshot::channel();
        let gone = || std::io::Error::other("the spawner has ended");
        self.0
            .send((command, Handle::current(), sender))
            .map_err(|_| gone())?;
        reply.await.map_err(|_| gone())?
    }
}
