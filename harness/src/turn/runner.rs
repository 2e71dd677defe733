//! The loop: ask for a message, run a turn, settle it, begin again.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::limits::RECV_WAIT_MS;
use hive_proto::v1::{EngineConfig, Outcome, Reason, RecvRequest, RecvResponse};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::current::CurrentTurn;
use super::park;
use super::state::{Happened, State};
use crate::broker::{Cancels, Link, Opened, Session};
use crate::engine::{Engine, Workshop};

/// After a failed turn or a poll that failed for no known reason, so that nothing turns into a tight
/// loop.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// How the loop came to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Finish {
    /// The process was asked to stop; everything is settled.
    Stopped,
    /// The broker does not want this instance any more.
    Ended(Refusal),
}

/// Runs one turn after another.
pub struct Runner {
    pub(super) session: Session,
    pub(super) cancels: Cancels,
    pub(super) current: CurrentTurn,
    pub(super) workshop: Workshop,
    /// The agent's state directory, for long bodies.
    pub(super) state_dir: PathBuf,
    pub(super) login_dir: PathBuf,
    pub(super) link: watch::Receiver<Link>,
    pub(super) paused: watch::Receiver<bool>,
    pub(super) state: State,
    /// The turn that was last cancelled while none ran here.
    pub(super) cancelled: Option<i64>,
    /// The attachment that the polls go over.
    attached: Option<Arc<Opened>>,
    /// Made from the configuration of the last attach.
    pub(super) engine: Option<Box<dyn Engine>>,
    pub(super) config: EngineConfig,
    poll: Option<Poll>,
    /// No poll before this time.
    hold_off: Option<Instant>,
    /// When the engine wants to be asked whether it has idled too long.
    engine_idle: Option<Instant>,
}

type Poll = Pin<Box<dyn Future<Output = Result<RecvResponse, Refusal>> + Send>>;

/// What ends the waiting between two turns.
enum Next {
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

// === impl Runner ===

impl Runner {
    #[must_use]
    pub fn new(
        session: Session,
        cancels: Cancels,
        current: CurrentTurn,
        workshop: Workshop,
        login_dir: PathBuf,
    ) -> Self {
        Self {
            link: session.link(),
            paused: session.paused(),
            session,
            cancels,
            current,
            state_dir: workshop.env().state.clone(),
            workshop,
            login_dir,
            state: State::Idle,
            attached: None,
            cancelled: None,
            engine: None,
            config: EngineConfig::default(),
            poll: None,
            hold_off: None,
            engine_idle: None,
        }
    }

    /// Runs turns until `stopping` or until the session is ended.
    pub async fn run(mut self, stopping: CancellationToken) -> Finish {
        let finish = loop {
            let next = self.next(&stopping).await;
            let finish = match next {
                Next::Message(got) => self.turn(got, &stopping).await,
                Next::Stop => Some(Finish::Stopped),
                Next::Ended(why) => Some(Finish::Ended(why)),
            };
            if let Some(finish) = finish {
                break finish;
            }
        };
        self.happened(Happened::Stop);
        if let Some(mut engine) = self.engine.take() {
            engine.stop().await;
        }
        crate::proc::end_strays(&[]).await;
        finish
    }

    /// Waits for the next message, following the link, pauses and parks meanwhile.
    async fn next(&mut self, stopping: &CancellationToken) -> Next {
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
                self.poll = None;
                self.hold_off = None;
                self.configure(&opened).await;
                self.attached = Some(opened);
            }
        }
        None
    }

    async fn configure(&mut self, opened: &Opened) {
        if self.engine.is_some() && opened.engine == self.config {
            return;
        }
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

    async fn ask_engine(&mut self) {
        let again = match &mut self.engine {
            Some(engine) => engine.idle().await,
            None => None,
        };
        self.engine_idle = again.map(|wait| Instant::now() + wait.max(Duration::from_millis(10)));
    }

    /// After a turn the engine is asked soon, which also says when next.
    pub(super) async fn rest(&mut self, outcome: Outcome, stopping: &CancellationToken) {
        self.ask_engine().await;
        if outcome == Outcome::Failed {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = stopping.cancelled() => {}
            }
        }
    }

    /// Moves the state machine and says so in the next beat.
    pub(super) fn happened(&mut self, what: Happened) {
        match self.state.clone().next(what) {
            Ok(state) => {
                self.state = state;
                self.session.say(self.state.says());
            }
            Err(illegal) => error!(%illegal, "the turn loop is at fault"),
        }
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

/// Logs what an engine does, without any text of it.
pub(super) fn log_events() -> crate::engine::EventSink {
    use crate::engine::EngineEvent as E;
    Arc::new(|event| match event {
        E::SessionStarted { session, model } => {
            info!(engine.session = %session, engine.model = %model, "engine session");
        }
        E::ToolStart { name, .. } => info!(tool.name = %name, "tool"),
        E::Retry { attempt, why } => info!(attempt, %why, "the engine tries again"),
        E::Compacting => info!("compacting"),
        E::Compacted => info!("compacted"),
        E::Notice(text) => info!(notice = %text, "engine notice"),
        E::ToolEnd { .. } | E::Text(_) | E::Raw(_) => {}
    })
}
