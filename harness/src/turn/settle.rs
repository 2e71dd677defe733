//! One turn: run the engine under the eyes of the broker and the operator, then settle it.

use std::pin::pin;
use std::time::Duration;

use hive_proto::ids::{MessageId, TurnId};
use hive_proto::v1::{EndTurnRequest, FailureClass, Message, Outcome, Reason, RecvResponse, Usage};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::current::{NextTurn, OpenTurn};
use super::drive::drive;
use super::event_log::log_events;
use super::park;
use super::prompt::{Body, Wake, wake};
use super::runner::{Finish, Runner};
use super::spill::spill;
use super::state::Happened;
use crate::broker::{Cancels, Link, Session};
use crate::engine::{TurnEnd, TurnInput};

/// How long an interrupted engine may take; then its processes are ended under it.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// How long settling may take while the process stops; after it the broker gives the rows back.
const STOP_SETTLE: Duration = Duration::from_secs(2);

/// Why a running turn was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupt {
    /// The process stops.
    Stop,
    /// The operator cancelled the turn.
    Cancel,
    /// The session is over, or the broker gave the turn up: there is nothing to settle.
    Void,
}

// === impl Runner ===

impl Runner {
    /// Runs and settles the turn of a message; `Some` when the loop must end.
    pub(super) async fn turn(
        &mut self,
        got: RecvResponse,
        stopping: &CancellationToken,
    ) -> Option<Finish> {
        let turn = TurnId(got.turn_id);
        let message = got.messages.into_iter().next()?;
        let begun = Instant::now();
        info!(message.id = message.id, message.from = %message.from, turn.id = %turn, "turn begins");
        self.current.begin(turn, MessageId(message.id));
        self.happened(Happened::Popped(turn));
        let (end, interrupt) = if self.cancelled.take() == Some(turn.0) {
            // The operator was faster than the message.
            (
                interrupted("cancelled before it began"),
                Some(Interrupt::Cancel),
            )
        } else {
            let input = self.input(turn, message, got.remaining);
            self.run_engine(input, stopping).await
        };
        let open = self.current.end();
        self.end_strays().await;
        let outcome = outcome(end.outcome, interrupt);
        info!(turn.id = %turn, outcome = ?outcome, detail = %end.detail,
            took_ms = begun.elapsed().as_millis(), "turn ends");
        let park = park::of(&end, &self.config, park::now_ms());
        if interrupt != Some(Interrupt::Void)
            && let Some(request) = self.request(turn, outcome, end, open)
        {
            self.settle(request, stopping).await;
        }
        self.happened(Happened::Ended(park));
        self.rest(outcome, stopping).await;
        match &*self.link.borrow() {
            Link::Ended(why) => Some(Finish::Ended(why.clone())),
            Link::Away | Link::Attached(_) => None,
        }
    }

    fn input(&self, turn: TurnId, message: Message, unread: u32) -> TurnInput {
        let spilled = spill(&self.state_dir, message.id, &message.body).unwrap_or_else(|error| {
            warn!(message.id = message.id, %error, "a long body stays inline");
            None
        });
        let body = match &spilled {
            Some(path) => Body::Spilled {
                path,
                bytes: message.body.len(),
            },
            None => Body::Inline(&message.body),
        };
        let prompt = wake(&Wake {
            id: message.id,
            from: &message.from,
            in_reply_to: message.in_reply_to,
            redelivered: message.redelivered,
            unread,
            body,
        });
        TurnInput {
            turn,
            message: MessageId(message.id),
            from: message.from,
            in_reply_to: message.in_reply_to.map(MessageId),
            body: message.body,
            redelivered: message.redelivered,
            prompt,
        }
    }

    async fn run_engine(
        &mut self,
        input: TurnInput,
        stopping: &CancellationToken,
    ) -> (TurnEnd, Option<Interrupt>) {
        let Some(mut engine) = self.engine.take() else {
            // A message can only come over an attached session, which has made the engine.
            return (failed_end("no engine was made", FailureClass::Config), None);
        };
        let turn = input.turn;
        let cancel = CancellationToken::new();
        let (noting, mut notes) = mpsc::unbounded_channel();
        // The runner is there as long as the turn runs.
        let note = move |happened| _ = noting.send(happened);
        let mut interrupt = None;
        let ended = {
            let events = log_events();
            let mut running = pin!(drive(engine.as_mut(), input, events, cancel.clone(), &note));
            tokio::select! {
                end = &mut running => Some(end),
                why = self.interrupted(turn, &mut notes, stopping) => {
                    info!(turn.id = %turn, ?why, "interrupting the turn");
                    interrupt = Some(why);
                    cancel.cancel();
                    tokio::time::timeout(INTERRUPT_GRACE, &mut running).await.ok()
                }
            }
        };
        let end = match ended {
            Some(end) => end,
            None => {
                engine.stop().await;
                interrupted("the engine did not obey in time")
            }
        };
        self.engine = Some(engine);
        (end, interrupt)
    }

    /// Ends when something interrupts the turn; follows pauses meanwhile.
    async fn interrupted(
        &mut self,
        turn: TurnId,
        notes: &mut mpsc::UnboundedReceiver<Happened>,
        stopping: &CancellationToken,
    ) -> Interrupt {
        loop {
            tokio::select! {
                () = stopping.cancelled() => return Interrupt::Stop,
                () = cancelled(&mut self.cancels, turn) => return Interrupt::Cancel,
                Some(happened) = notes.recv() => self.happened(happened),
                _ = self.paused.changed() => {
                    let paused = *self.paused.borrow_and_update();
                    self.happened(if paused { Happened::Pause } else { Happened::Resume });
                }
                _ = self.link.changed() => {
                    match &*self.link.borrow_and_update() {
                        Link::Ended(_) => return Interrupt::Void,
                        Link::Attached(opened) if opened.gave_up(turn) => {
                            warn!(turn.id = %turn, "the broker has given this turn up");
                            return Interrupt::Void;
                        }
                        Link::Attached(_) | Link::Away => {}
                    }
                }
            }
        }
    }

    async fn end_strays(&mut self) {
        let kept = self.engine.as_ref().and_then(|engine| engine.kept());
        let ended = self
            .workshop
            .env()
            .children
            .end_strays(kept.as_slice())
            .await;
        if ended > 0 {
            info!(ended, "ended processes that the turn left behind");
        }
    }

    fn request(
        &self,
        turn: TurnId,
        outcome: Outcome,
        end: TurnEnd,
        open: Option<OpenTurn>,
    ) -> Option<EndTurnRequest> {
        let open = open?;
        Some(EndTurnRequest {
            // The epoch is put in when it is sent: it may have changed on the way.
            epoch: 0,
            turn_id: turn.0,
            outcome: outcome.into(),
            failure: end.failure.into(),
            detail: end.detail,
            usage: Some(end.usage),
            until_ms: end.until_ms.unwrap_or(0),
            continue_requested: open.next_turn == NextTurn::AtOnce,
            model: end.model,
            held: open.seen.iter().map(|id| id.0).collect(),
        })
    }

    /// Tells the broker, as long as it takes, unless the process stops or the session is over.
    async fn settle(&mut self, request: EndTurnRequest, stopping: &CancellationToken) {
        let turn = request.turn_id;
        let session = self.session.clone();
        let told = tokio::select! {
            told = tell(session, request) => told,
            () = async {
                stopping.cancelled().await;
                tokio::time::sleep(STOP_SETTLE).await;
            } => {
                warn!(turn.id = turn, "stopping before the turn could be settled");
                return;
            }
        };
        match told {
            Ok(()) => {}
            Err(why) if why.reason == Reason::StaleEpoch => {
                warn!(turn.id = turn, "the turn was not ours any more");
                self.session.end(why);
            }
            Err(why) => warn!(turn.id = turn, %why, "the turn could not be settled"),
        }
    }
}

/// Sends the end of a turn under the session's epoch, waiting for the session where it must.
async fn tell(session: Session, mut request: EndTurnRequest) -> Result<(), hive_proto::Refusal> {
    let mut link = session.link();
    let there = link.wait_for(|link| !matches!(link, Link::Away)).await;
    let there = there.map(|link| link.clone()).map_err(|_| over())?;
    request.epoch = match there {
        Link::Attached(opened) => opened.epoch,
        Link::Ended(why) => return Err(why),
        Link::Away => return Err(over()),
    };
    session.calls().end_turn(request).await.map(|_| ())
}

fn over() -> hive_proto::Refusal {
    hive_proto::Refusal::new(Reason::StaleEpoch, "the session is over")
}

/// Ends when the broker wants `turn` cancelled; 0 means whatever runs.
async fn cancelled(cancels: &mut Cancels, turn: TurnId) {
    loop {
        match cancels.recv().await {
            Some(id) if id == turn.0 || id == 0 => return,
            Some(_) => {}
            None => return std::future::pending().await,
        }
    }
}

/// What the broker is told: an interrupt that the engine obeyed is named by its cause.
fn outcome(ended: Outcome, interrupt: Option<Interrupt>) -> Outcome {
    match (ended, interrupt) {
        (Outcome::Interrupted, Some(Interrupt::Cancel)) => Outcome::Cancelled,
        (Outcome::Failed, Some(Interrupt::Cancel)) => Outcome::Cancelled,
        // A turn that fails because the process stops has not failed on its own.
        (Outcome::Failed, Some(Interrupt::Stop)) => Outcome::Interrupted,
        (ended, _) => ended,
    }
}

fn interrupted(detail: &str) -> TurnEnd {
    let mut end = failed_end(detail, FailureClass::Unspecified);
    end.outcome = Outcome::Interrupted;
    end
}

fn failed_end(detail: &str, failure: FailureClass) -> TurnEnd {
    TurnEnd {
        outcome: Outcome::Failed,
        failure,
        detail: detail.to_owned(),
        until_ms: None,
        usage: Usage::default(),
        model: String::new(),
    }
}
