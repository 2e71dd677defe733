//! Waiting for what becomes of one message.

use std::time::Duration;

use hive_proto::ids::MessageId;
use hive_proto::limits::RECV_WAIT_MS;
use hive_proto::v1::MessageState;
use tokio::time::Instant;

use super::error::{InboxError, split};
use super::life::{Life, life};
use super::send::Inbox;

impl Inbox {
    /// Returns once the message is acked or dead, or somebody has replied to it, or the wait (capped
    /// at 180 s) has run out.
    ///
    /// # Errors
    /// When it does not exist, the daemon's end, the store's failure.
    pub async fn wait(&self, id: MessageId, wait: Duration) -> Result<Life, InboxError> {
        let wait = wait.min(Duration::from_millis(RECV_WAIT_MS.into()));
        let deadline = Instant::now() + wait;
        let stopping = self.tasks.stopping();
        loop {
            let woken = self.store.wakers().events().notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let life = self.store.read(move |conn| split(life(conn, id))).await??;
            let settled = match life.message.state {
                MessageState::Acked | MessageState::Dead => true,
                MessageState::Queued | MessageState::Leased | MessageState::Unspecified => false,
            };
            if settled || life.is_answered() || Instant::now() >= deadline {
                return Ok(life);
            }
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = stopping.cancelled() => return Err(InboxError::Stopping),
            }
        }
    }
}
