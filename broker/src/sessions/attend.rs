//! The stream that a harness holds open for the life of its session.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use hive_proto::ids::{AgentId, TurnId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::live::Map;

/// What the broker tells a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// The first one on every stream.
    Attached,
    /// End this turn as cancelled.
    CancelTurn(TurnId),
    /// Start no further turn.
    Pause,
    Resume,
    /// The session is another's now.
    Fenced,
    /// What the opening answered has changed: open again, as the same instance.
    Renew,
}

/// The reading end; dropping it is how the broker learns that the harness is away.
struct Attendance {
    map: Arc<Map>,
    agent: AgentId,
    stream: u64,
    directives: mpsc::Receiver<Directive>,
    stopping: CancellationToken,
}

/// The stream of one attendance; it ends when the session is taken over or the daemon stops.
pub(super) fn attendance(
    map: Arc<Map>,
    agent: AgentId,
    stream: u64,
    directives: mpsc::Receiver<Directive>,
    stopping: CancellationToken,
) -> BoxStream<'static, Directive> {
    let attendance = Attendance {
        map,
        agent,
        stream,
        directives,
        stopping,
    };
    stream::unfold(attendance, |mut attendance| async move {
        let next = attendance.next().await?;
        Some((next, attendance))
    })
    .boxed()
}

// === impl Attendance ===

impl Attendance {
    async fn next(&mut self) -> Option<Directive> {
        tokio::select! {
            next = self.directives.recv() => next,
            () = self.stopping.cancelled() => None,
        }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let mut map = self.map.lock();
        if let Some(entry) = map.get_mut(&self.agent)
            && entry
                .attached
                .as_ref()
                .is_some_and(|attached| attached.stream == self.stream)
        {
            entry.attached = None;
        }
    }
}
