//! The harness's session as the runner and the tools see it: whether it is attached, what the broker
//! said, what the next beat will say.

use std::sync::Arc;

use hive_proto::Refusal;
use hive_proto::ids::TurnId;
use hive_proto::v1::{EngineConfig, HarnessState, Role, ToolRule};
use tokio::sync::{mpsc, watch};

use super::calls::AgentCalls;
use super::driver::SessionDriver;

/// What the broker said when it opened the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    pub epoch: u64,
    pub name: String,
    pub role: Role,
    pub parent: String,
    pub engine: EngineConfig,
    /// Which groups of tools the agent has.
    pub tools: ToolRule,
    /// Turn that the broker holds open under this epoch; 0 for none.
    pub open_turn: i64,
    /// The stream from before goes on: a turn may have begun while this was on its way.
    pub renewed: bool,
}

/// The connection as the runner sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    Away,
    /// The same `Arc` as long as the stream lives.
    Attached(Arc<Opened>),
    Ended(Refusal),
}

/// What decides which tools the agent has.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub role: Role,
    pub tools: ToolRule,
}

/// What a beat says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Says {
    pub state: HarnessState,
    /// 0 when there is no time.
    pub until_ms: i64,
    pub detail: String,
}

/// What the runner and the tools hold of the session; cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) calls: AgentCalls,
    pub(super) link: watch::Sender<Link>,
    pub(super) paused: watch::Sender<bool>,
    says: watch::Sender<Says>,
    /// As the broker said last; it outlives the connection.
    given: watch::Sender<Given>,
    pub(super) cancels: mpsc::UnboundedSender<i64>,
}

/// Turns that the broker wants cancelled.
pub type Cancels = mpsc::UnboundedReceiver<i64>;

// === impl Opened ===

impl Opened {
    /// Whether the broker says that this turn, which runs here, is not open any more.
    #[must_use]
    pub fn gave_up(&self, turn: TurnId) -> bool {
        match self.open_turn {
            0 => !self.renewed,
            open => open != turn.0,
        }
    }
}

// === impl Session ===

impl Session {
    /// A session that nobody has opened yet, under a fresh instance.
    #[must_use]
    pub fn new(calls: AgentCalls) -> (Self, SessionDriver, Cancels) {
        let (cancels, cancelled) = mpsc::unbounded_channel();
        let says = Says {
            state: HarnessState::Idle,
            until_ms: 0,
            detail: String::new(),
        };
        let session = Self {
            calls,
            link: watch::Sender::new(Link::Away),
            paused: watch::Sender::new(false),
            says: watch::Sender::new(says),
            given: watch::Sender::new(Given {
                role: Role::Agent,
                tools: all_tools(),
            }),
            cancels,
        };
        let driver = SessionDriver::new(session.clone(), session.says.subscribe());
        (session, driver, cancelled)
    }

    #[must_use]
    pub fn calls(&self) -> &AgentCalls {
        &self.calls
    }

    #[must_use]
    pub fn link(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    /// Whether the operator has paused the agent.
    #[must_use]
    pub fn paused(&self) -> watch::Receiver<bool> {
        self.paused.subscribe()
    }

    /// What decides which tools the agent has, as the broker said last.
    #[must_use]
    pub fn given(&self) -> Given {
        self.given.borrow().clone()
    }

    /// Takes what the broker said at an opening.
    pub(super) fn attach(&self, opened: Arc<Opened>) {
        self.given.send_replace(Given {
            role: opened.role,
            tools: opened.tools.clone(),
        });
        self.link.send_if_modified(|link| match link {
            Link::Ended(_) => false,
            Link::Away | Link::Attached(_) => {
                *link = Link::Attached(opened);
                true
            }
        });
    }

    /// The epoch of the session, if it is attached now.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        match &*self.link.borrow() {
            Link::Attached(opened) => Some(opened.epoch),
            Link::Away | Link::Ended(_) => None,
        }
    }

    /// Beats at once if this differs from what was said before.
    pub fn say(&self, says: Says) {
        self.says.send_if_modified(|old| {
            let changed = *old != says;
            *old = says;
            changed
        });
    }

    /// Ends the session for ever: another one took over, or this hive is not served any more.
    pub fn end(&self, why: Refusal) {
        self.link.send_if_modified(|link| match link {
            Link::Ended(_) => false,
            Link::Away | Link::Attached(_) => {
                *link = Link::Ended(why);
                true
            }
        });
    }

    pub(super) fn ended(&self) -> bool {
        matches!(*self.link.borrow(), Link::Ended(_))
    }
}

/// What a broker means that says nothing of tools.
pub(super) fn all_tools() -> ToolRule {
    ToolRule {
        all: true,
        only: Vec::new(),
    }
}
