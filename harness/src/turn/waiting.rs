//! Between two turns: ask for a message, and follow the link, pauses, parks and cancels meanwhile.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::limits::RECV_WAIT_MS;
use hive_proto::v1::{Reason, RecvRequest, RecvResponse};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::park;
use super::runner::{PAUSE, Runner};
use super::state::{Happened, State};
use crate::broker::{Link, Opened};

/// A call for a message that is under way.
pub(super) type Poll = Pin<Box<dyn Future<Output = Result<RecvResponse, Refusal>> + Send>>;

/// What ends the waiting between two turns.
pub(super) enum Next {
    Message(RecvResponse),
    Stop,
    Ended(Refusal),
}

/// What one step of the waiting saw.
enum Seen {
    Stopping,
    Polled(Result<RecvResponse, Refusal>),
    Link,
    Paused,
    /// A cancel for a turn that has ended, or whose message is still on its way here.
    Cancel(Option<i64>),
    ParkOver,
    HeldOff,
    EngineIdle,
}

impl Runner {
    /// Waits for the next message, following the link, pauses and parks meanwhile.
    pub(super) async fn next(&mut self, stopping: &CancellationToken) -> Next {
        loop {
            if let Some(ended) = self.follow_link().await {
                return ended;
            }
            self.follow_pause();
            self.begin_poll();
            match self.see(stopping).await {
                Seen::Stopping => return Next::Stop,
                Seen::Polled(Ok(got)) if !got.messages.is_empty() => return Next::Message(got),
                Seen::Polled(Ok(_)) => {}
                Seen::Polled(Err(why)) => self.poll_failed(why),
                Seen::Link | Seen::Paused => {}
                Seen::Cancel(turn) => self.cancelled = turn,
                Seen::ParkOver => self.happened(Happened::ParkOver),
                Seen::HeldOff => self.hold_off = None,
                Seen::EngineIdle => self.ask_engine().await,
            }
        }
    }

    async fn see(&mut self, stopping: &CancellationToken) -> Seen {
        let (polls, holds, idles) = (
            self.poll.is_some(),
            self.hold_off.is_some(),
            self.engine_idle.is_some(),
        );
        tokio::select! {
            biased;
            () = stopping.cancelled() => Seen::Stopping,
            got = poll(&mut self.poll), if polls => {
                self.poll = None;
                Seen::Polled(got)
            }
            _ = self.link.changed() => Seen::Link,
            _ = self.paused.changed() => Seen::Paused,
            turn = self.cancels.recv() => Seen::Cancel(turn),
            () = park::over(self.state.park(), &self.login_dir) => Seen::ParkOver,
            () = until(self.hold_off), if holds => Seen::HeldOff,
            () = until(self.engine_idle), if idles => Seen::EngineIdle,
        }
    }

    /// Takes note of a new attachment. A turn that the broker holds open although nobody runs it (the
    /// answer that carried its message was lost) is handed out again by the next poll.
    async fn follow_link(&mut self) -> Option<Next> {
        let link = self.link.borrow_and_update().clone();
        match link {
            Link::Ended(why) => return Some(Next::Ended(why)),
            Link::Away => {
                self.poll = None;
                self.attached = None;
            }
            Link::Attached(opened) => {
                let known = self.attached.as_ref();
                if known.is_some_and(|known| Arc::ptr_eq(known, &opened)) {
                    return None;
                }
                // A poll of the connection before this one must not answer any more.
                if !opened.renewed {
                    self.poll = None;
                    self.hold_off = None;
                }
                self.configure(&opened).await;
                self.attached = Some(opened);
            }
        }
        None
    }

    async fn configure(&mut self, opened: &Opened) {
        let same = self.config.engine == opened.engine.engine;
        self.config = opened.engine.clone();
        match &mut self.engine {
            Some(engine) if same => engine.configure(self.workshop.env_for(opened)),
            Some(engine) => {
                engine.stop().await;
                self.engine = Some(self.workshop.make(opened));
            }
            None => self.engine = Some(self.workshop.make(opened)),
        }
    }

    fn follow_pause(&mut self) {
        let paused = *self.paused.borrow_and_update();
        match (&self.state, paused) {
            (State::Idle | State::Parked(_), true) => self.happened(Happened::Pause),
            (State::Paused { .. }, false) => self.happened(Happened::Resume),
            (
                State::Idle
                | State::Parked(_)
                | State::Paused { .. }
                | State::Thinking { .. }
                | State::Compacting { .. }
                | State::Stopping { .. },
                _,
            ) => {}
        }
        if !self.state.may_poll() {
            self.poll = None;
        }
    }

    fn begin_poll(&mut self) {
        let Some(epoch) = self.attached.as_ref().map(|opened| opened.epoch) else {
            return;
        };
        if !self.state.may_poll() || self.poll.is_some() || self.hold_off.is_some() {
            return;
        }
        let calls = self.session.calls().clone();
        let request = RecvRequest {
            epoch,
            max: 1,
            wait_ms: RECV_WAIT_MS,
            turn_id: 0,
            held: Vec::new(),
        };
        self.poll = Some(Box::pin(async move { calls.recv(request).await }));
    }

    fn poll_failed(&mut self, why: Refusal) {
        if why.reason == Reason::StaleEpoch {
            self.session.end(why);
            return;
        }
        // The link says when the broker is back; until then, and for anything else, not at once.
        if why.reason != Reason::Unavailable {
            warn!(%why, "asking for a message failed");
        }
        self.hold_off = Some(Instant::now() + PAUSE);
    }

    pub(super) async fn ask_engine(&mut self) {
        let again = match &mut self.engine {
            Some(engine) => engine.idle().await,
            None => None,
        };
        self.engine_idle = again.map(|wait| Instant::now() + wait.max(Duration::from_millis(10)));
    }
}

async fn poll(poll: &mut Option<Poll>) -> Result<RecvResponse, Refusal> {
    match poll {
        Some(poll) => poll.await,
        None => std::future::pending().await,
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
