//! The loop: ask for a message, run a turn, settle it, begin again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::{EngineConfig, Outcome};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::current::CurrentTurn;
use super::state::{Happened, State};
use super::waiting::{Next, Poll};
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
    pub(super) attached: Option<Arc<Opened>>,
    /// Made from the configuration of the last attach.
    pub(super) engine: Option<Box<dyn Engine>>,
    pub(super) config: EngineConfig,
    pub(super) poll: Option<Poll>,
    /// No poll before this time.
    pub(super) hold_off: Option<Instant>,
    /// When the engine wants to be asked whether it has idled too long.
    pub(super) engine_idle: Option<Instant>,
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
        self.workshop.env().children.end_strays(&[]).await;
        finish
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
