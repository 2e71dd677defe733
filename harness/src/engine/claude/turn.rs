//! One turn as a state machine: lines, clocks and cancellation in, lines to send and an end out.
//!
//! ```text
//! Checking ──tools are there──► Running ──result──► done
//!     │ tools lost, cancelled      │ cancelled, silent, too long, rate limited, tools lost
//!     ▼                            ▼
//!    done                       Stopping ──result──► done
//!                                  └──grace over──► the process is killed
//! ```
//!
//! No I/O and no waiting here: `drive.rs` does both. What the lines mean is in `turn/reading.rs`.

mod reading;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::control::control_request;
use super::facts::{Death, Facts, Kind, Stop};
use super::mcp_check::McpCheck;
use super::permission::Rule;
use super::usage::Counted;
use crate::engine::EventSink;

/// How long the program may take until it is ready for a turn.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// How long the program may take to end a turn that it was asked to interrupt. Below what the turn
/// loop gives the engine for it.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);

/// What is to be done in the turn.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) prompt: String,
    /// Longest time without a line.
    pub(super) silence: Duration,
    /// Longest time for all of it.
    pub(super) wall: Duration,
}

/// What the driver must do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Step {
    /// Send what is queued and wait for the next event or deadline.
    Wait,
    /// The turn is over and the process may be kept.
    Done,
    /// The process must be killed; the turn ends with its death.
    Kill,
}

#[derive(Debug)]
enum Phase {
    Checking {
        check: McpCheck,
        /// The request whose answer is awaited.
        request: String,
        look_at: Option<Instant>,
    },
    Running,
    Stopping {
        until: Instant,
    },
}

/// A turn in progress.
pub(super) struct Turn<'a> {
    job: Job,
    rule: &'a Rule,
    events: &'a EventSink,
    phase: Phase,
    began: Instant,
    last_line: Instant,
    outbox: Vec<Value>,
    pub(super) facts: Facts,
    pub(super) counted: Counted,
    pub(super) model: String,
    /// The conversation's id as the program says it; empty until then.
    pub(super) session: String,
    /// The prompt was sent: from here on work may have been done.
    pub(super) prompted: bool,
}

// === impl Turn ===

impl<'a> Turn<'a> {
    pub(super) fn begin(job: Job, rule: &'a Rule, events: &'a EventSink, now: Instant) -> Self {
        let facts = Facts::new(job.kind);
        let mut turn = Self {
            job,
            rule,
            events,
            phase: Phase::Running,
            began: now,
            last_line: now,
            outbox: Vec::new(),
            facts,
            counted: Counted::default(),
            model: String::new(),
            session: String::new(),
            prompted: false,
        };
        let request = turn.ask(McpCheck::status_request());
        turn.phase = Phase::Checking {
            check: McpCheck::default(),
            request,
            look_at: None,
        };
        turn
    }

    /// Lines to send, in order.
    pub(super) fn take_outbox(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.outbox)
    }

    /// When [`Turn::on_clock`] wants to be called.
    pub(super) fn deadline(&self) -> Instant {
        let wall = self.began + self.job.wall;
        match &self.phase {
            Phase::Checking { look_at, .. } => {
                let ready = self.began + READY_LIMIT;
                look_at.unwrap_or(ready).min(ready).min(wall)
            }
            Phase::Running => wall.min(self.last_line + self.job.silence),
            Phase::Stopping { until } => *until,
        }
    }

    pub(super) fn on_clock(&mut self, now: Instant) -> Step {
        match &mut self.phase {
            Phase::Stopping { until } if now >= *until => Step::Kill,
            Phase::Stopping { .. } => Step::Wait,
            _ if now >= self.began + self.job.wall => self.stop(Stop::Wall(self.job.wall), now),
            Phase::Running if now >= self.last_line + self.job.silence => {
                self.stop(Stop::Silent(self.job.silence), now)
            }
            Phase::Running => Step::Wait,
            Phase::Checking { .. } if now >= self.began + READY_LIMIT => {
                self.facts.stop.get_or_insert(Stop::NotReady(READY_LIMIT));
                Step::Kill
            }
            Phase::Checking { look_at, .. } => {
                if look_at.take().is_some() {
                    self.ask_in_check(McpCheck::status_request());
                }
                Step::Wait
            }
        }
    }

    pub(super) fn on_cancel(&mut self, now: Instant) -> Step {
        self.stop(Stop::Cancelled, now)
    }

    pub(super) fn on_death(&mut self, death: Death) -> Step {
        self.facts.death = Some(death);
        Step::Done
    }

    /// Ends the turn for `why`; the first reason counts.
    fn stop(&mut self, why: Stop, now: Instant) -> Step {
        if self.facts.stop.is_some() {
            return Step::Wait;
        }
        self.facts.stop = Some(why);
        match self.phase {
            // Nothing was asked yet, so nothing needs to be interrupted.
            Phase::Checking { .. } => Step::Done,
            Phase::Running | Phase::Stopping { .. } => {
                self.ask(json!({"subtype": "interrupt"}));
                self.phase = Phase::Stopping {
                    until: now + INTERRUPT_GRACE,
                };
                Step::Wait
            }
        }
    }

    fn ask(&mut self, body: Value) -> String {
        let id = Uuid::new_v4().to_string();
        self.outbox.push(control_request(&id, body));
        id
    }

    fn ask_in_check(&mut self, body: Value) {
        let id = self.ask(body);
        if let Phase::Checking { request, .. } = &mut self.phase {
            *request = id;
        }
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
