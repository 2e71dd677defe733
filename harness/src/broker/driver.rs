//! Holds the session: opened, held by a stream, kept by beats, opened again whenever the broker comes
//! back.
//!
//! ```text
//! Away → Attached → Away → … ;  any → Ended
//! ```
//! Away → Attached: the broker opened or resumed the session and its stream said so. Attached → Away:
//! the stream broke. → Ended: the broker says that this instance may not serve any more.

use std::sync::Arc;
use std::time::Duration;

use hive_proto::v1::{
    AttendRequest, BeatRequest, Directive, DirectiveKind, OpenSessionRequest, OpenSessionResponse,
    Reason,
};
use hive_proto::{LEVEL, Refusal, VERSION};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::backoff::Backoff;
use super::calls::{may_pass, once, refusal};
use super::session::{Link, Opened, Says, Session, all_tools};

/// How long another instance may hold the agent before this one gives up. Longer than the 60 s after
/// which the broker counts a silent session as lost.
const TAKEN_PATIENCE: Duration = Duration::from_secs(90);
/// How long opening the stream may take.
const ATTEND_DEADLINE: Duration = Duration::from_secs(10);

/// The other end: run it as a task.
#[derive(Debug)]
pub struct SessionDriver {
    session: Session,
    instance: String,
    says: watch::Receiver<Says>,
}

// === impl SessionDriver ===

impl SessionDriver {
    /// Under a fresh instance.
    pub(super) fn new(session: Session, says: watch::Receiver<Says>) -> Self {
        Self {
            session,
            instance: uuid::Uuid::new_v4().to_string(),
            says,
        }
    }

    /// Holds the session until it is ended or `stopping`. The stream is let go only after
    /// `released`, so that the last turn can be settled under it.
    pub async fn run(mut self, released: CancellationToken) {
        tokio::select! {
            () = self.keep() => {}
            () = released.cancelled() => {}
        }
    }

    async fn keep(&mut self) {
        let mut backoff = Backoff::default();
        let mut taken_since = None;
        while !self.session.ended() {
            match self.open_and_hold(&mut backoff).await {
                Ok(()) => {
                    taken_since = None;
                    self.away("the broker went away");
                }
                Err(why) if may_pass(why.reason) => {}
                Err(why) if why.reason == Reason::SessionTaken => {
                    let since = *taken_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > TAKEN_PATIENCE {
                        return self.session.end(why);
                    }
                }
                Err(why) => return self.session.end(why),
            }
            tokio::time::sleep(backoff.wait()).await;
        }
    }

    /// One life of the stream. `Ok` when it was attached and broke.
    async fn open_and_hold(&mut self, backoff: &mut Backoff) -> Result<(), Refusal> {
        let answer = self.open().await?;
        let epoch = answer.epoch;
        let mut agent = self.session.calls.client().agent();
        let opening = agent.attend(AttendRequest { epoch });
        let mut stream = once(ATTEND_DEADLINE, opening).await?;
        let beat = Duration::from_millis(u64::from(answer.beat_interval_ms).max(100));
        self.session.paused.send_replace(answer.paused);
        let opened = Arc::new(opened(answer));
        match tokio::time::timeout(ATTEND_DEADLINE, stream.message()).await {
            Ok(Ok(Some(first))) => self.attached(&first, opened)?,
            Ok(Err(status)) => return Err(refusal(&status)),
            Ok(Ok(None)) | Err(_) => {
                return Err(Refusal::new(Reason::Unavailable, "the stream ended"));
            }
        }
        backoff.reset();
        self.hold(stream, epoch, beat).await
    }

    fn attached(&self, first: &Directive, opened: Arc<Opened>) -> Result<(), Refusal> {
        if first.kind() == DirectiveKind::Fenced {
            return Err(fenced());
        }
        info!(agent.name = %opened.name, session.epoch = opened.epoch, "attached to the broker");
        self.session.attach(opened);
        self.obey(first);
        Ok(())
    }

    async fn open(&self) -> Result<OpenSessionResponse, Refusal> {
        let request = OpenSessionRequest {
            instance: self.instance.clone(),
            version: VERSION.to_owned(),
            level: LEVEL,
        };
        self.session.calls.open(request).await
    }

    /// Opens the session again below the stream that is held, because what the opening answers has
    /// changed. False when the stream is not this session's any more.
    async fn renew(&self, epoch: u64) -> Result<bool, Refusal> {
        let answer = match self.open().await {
            Ok(answer) => answer,
            Err(why) if may_pass(why.reason) => return Ok(false),
            Err(why) => return Err(why),
        };
        if answer.epoch != epoch {
            return Ok(false);
        }
        info!("the broker has renewed the session");
        self.session.attach(Arc::new(Opened {
            renewed: true,
            ..opened(answer)
        }));
        Ok(true)
    }

    async fn hold(
        &mut self,
        mut stream: tonic::Streaming<Directive>,
        epoch: u64,
        interval: Duration,
    ) -> Result<(), Refusal> {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                directive = stream.message() => match directive {
                    Ok(Some(directive)) if directive.kind() == DirectiveKind::Fenced => {
                        return Err(fenced());
                    }
                    Ok(Some(directive)) if directive.kind() == DirectiveKind::Renew => {
                        if !self.renew(epoch).await? {
                            return Ok(());
                        }
                    }
                    Ok(Some(directive)) => self.obey(&directive),
                    Ok(None) => return Ok(()),
                    Err(status) => {
                        let why = refusal(&status);
                        return if may_pass(why.reason) { Ok(()) } else { Err(why) };
                    }
                },
                _ = ticks.tick() => self.beat(epoch).await?,
                _ = self.says.changed() => self.beat(epoch).await?,
            }
        }
    }

    /// A beat that fails because the broker is away is no news: the stream breaks too.
    async fn beat(&mut self, epoch: u64) -> Result<(), Refusal> {
        let says = self.says.borrow_and_update().clone();
        let request = BeatRequest {
            epoch,
            state: says.state.into(),
            until_ms: says.until_ms,
            detail: says.detail,
        };
        match self.session.calls.beat(request).await {
            Ok(answer) => self.set_paused(answer.paused),
            Err(why) if may_pass(why.reason) => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }

    fn obey(&self, directive: &Directive) {
        match directive.kind() {
            DirectiveKind::Pause => self.set_paused(true),
            DirectiveKind::Resume => self.set_paused(false),
            DirectiveKind::CancelTurn => {
                // The runner is gone only when the process ends.
                _ = self.session.cancels.send(directive.turn_id);
            }
            // Some are handled where the stream is read; unknown kinds come from a newer broker.
            DirectiveKind::Attached
            | DirectiveKind::Fenced
            | DirectiveKind::Renew
            | DirectiveKind::Unspecified => {}
        }
    }

    fn set_paused(&self, paused: bool) {
        self.session.paused.send_if_modified(|old| {
            let changed = *old != paused;
            *old = paused;
            changed
        });
    }

    fn away(&self, why: &str) {
        if !self.session.ended() {
            warn!("{why}; connecting again");
            self.session.link.send_replace(Link::Away);
        }
    }
}

fn opened(answer: OpenSessionResponse) -> Opened {
    Opened {
        epoch: answer.epoch,
        role: answer.role(),
        name: answer.name,
        parent: answer.parent,
        engine: answer.engine.unwrap_or_default(),
        tools: answer.tools.unwrap_or_else(all_tools),
        open_turn: answer.open_turn,
        renewed: false,
    }
}

fn fenced() -> Refusal {
    Refusal::new(
        Reason::StaleEpoch,
        "another session of this agent took over",
    )
}
