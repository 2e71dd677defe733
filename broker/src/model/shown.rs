//! The shown state of an agent: worked out from facts alone, in one fixed order.
//!
//! 1 wanted stopped and not running → `stopped` · 2 restarts used up → `failed` · 3 runtime cannot be
//! asked → `unknown` · 4 an operation runs → `starting`, `stopping` · 5 not running, or made a moment
//! ago and not looked at yet → `starting`, by the restart plan; frozen from outside → `unreachable` · 6 paused → `paused` · 7 no beat for 60 s →
//! `unreachable` (`starting` before the first one) · 8 the session says parked · 9 lease held →
//! `thinking`, `compacting` · 10 `idle`.

use hive_proto::ids::UnixMs;
use hive_proto::v1::HarnessState;

use super::agent::{Goal, Held};

/// One word of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Starting,
    Idle,
    Thinking,
    Compacting,
    RateLimited,
    NeedsLogin,
    BudgetExhausted,
    Paused,
    Unreachable,
    Stopping,
    Stopped,
    Failed,
    Unknown,
}

/// What people see of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub state: State,
    /// When a park ends.
    pub until: Option<UnixMs>,
    /// Why, in one sentence; may be empty.
    pub detail: String,
}

/// What the driver does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    None,
    Starting,
    Stopping,
}

/// What is known of the harness's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Session {
    /// None was opened since the instance started, and it is not yet overdue.
    Awaited,
    /// No beat for 60 s, or none at all in that time.
    Silent,
    Live {
        state: HarnessState,
        until: Option<UnixMs>,
        detail: String,
    },
}

/// Everything the shown state depends on.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub goal: Goal,
    pub paused: bool,
    /// Why the restart plan gave up; empty when it did not.
    pub failed: &'a str,
    pub held: Held,
    /// What the runtime said: why it cannot be asked, or how the instance ended.
    pub runtime_detail: &'a str,
    pub operation: Operation,
    pub session: Session,
    /// Whether a turn is open.
    pub leased: bool,
}

// === impl State ===

impl State {
    /// The word shown and stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Thinking => "thinking",
            Self::Compacting => "compacting",
            Self::RateLimited => "rate_limited",
            Self::NeedsLogin => "needs_login",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Paused => "paused",
            Self::Unreachable => "unreachable",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

// === impl Shown ===

impl Shown {
    fn new(state: State, detail: impl Into<String>) -> Self {
        Self {
            state,
            until: None,
            detail: detail.into(),
        }
    }

    /// The state that the facts give.
    #[must_use]
    pub fn of(facts: &Facts<'_>) -> Self {
        let down = matches!(
            facts.held,
            Held::Unseen | Held::Absent | Held::Made | Held::Exited
        );
        if facts.goal != Goal::Running && down {
            return Self::new(State::Stopped, "");
        }
        if !facts.failed.is_empty() {
            return Self::new(State::Failed, facts.failed);
        }
        if facts.held == Held::Unknown {
            return Self::new(State::Unknown, facts.runtime_detail);
        }
        match facts.operation {
            Operation::Starting => return Self::new(State::Starting, facts.runtime_detail),
            Operation::Stopping => return Self::new(State::Stopping, ""),
            Operation::None => {}
        }
        if down {
            return Self::new(State::Starting, facts.runtime_detail);
        }
        if facts.goal != Goal::Running {
            return Self::new(State::Stopping, "");
        }
        if facts.held == Held::Frozen {
            return Self::new(
                State::Unreachable,
                "the container is paused by someone outside hive",
            );
        }
        if facts.paused {
            return Self::new(State::Paused, "");
        }
        Self::of_session(&facts.session, facts.leased)
    }

    fn of_session(session: &Session, leased: bool) -> Self {
        let (state, until, detail) = match session {
            Session::Awaited => return Self::new(State::Starting, "waiting for its harness"),
            Session::Silent => {
                return Self::new(State::Unreachable, "its harness does not beat any longer");
            }
            Session::Live {
                state,
                until,
                detail,
            } => (*state, *until, detail.clone()),
        };
        let parked = |state| Self {
            state,
            until,
            detail: detail.clone(),
        };
        match state {
            HarnessState::RateLimited => parked(State::RateLimited),
            HarnessState::NeedsLogin => parked(State::NeedsLogin),
            HarnessState::BudgetExhausted => parked(State::BudgetExhausted),
            HarnessState::Stopping => parked(State::Stopping),
            HarnessState::Compacting if leased => parked(State::Compacting),
            HarnessState::Unspecified
            | HarnessState::Idle
            | HarnessState::Thinking
            | HarnessState::Compacting
            | HarnessState::Paused => {
                Self::new(if leased { State::Thinking } else { State::Idle }, "")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;
    use hive_proto::v1::HarnessState;

    use super::{Facts, Operation, Session, Shown, State};
    use crate::model::agent::{Goal, Held};

    fn live(state: HarnessState) -> Session {
        Session::Live {
            state,
            until: Some(UnixMs(5)),
            detail: "the provider says so".into(),
        }
    }

    /// A healthy, idle agent: every test below spoils it in one respect.
    fn healthy() -> Facts<'static> {
        Facts {
            goal: Goal::Running,
            paused: false,
            failed: "",
            held: Held::Running,
            runtime_detail: "",
            operation: Operation::None,
            session: live(HarnessState::Idle),
            leased: false,
        }
    }

    fn state(facts: &Facts<'_>) -> State {
        Shown::of(facts).state
    }

    #[test]
    fn each_rule_beats_all_that_come_after_it() {
        let mut facts = healthy();
        assert_eq!(state(&facts), State::Idle);
        facts.leased = true;
        assert_eq!(state(&facts), State::Thinking);
        facts.session = live(HarnessState::Compacting);
        assert_eq!(state(&facts), State::Compacting);
        facts.session = live(HarnessState::RateLimited);
        assert_eq!(state(&facts), State::RateLimited);
        facts.session = Session::Silent;
        assert_eq!(state(&facts), State::Unreachable);
        facts.paused = true;
        assert_eq!(state(&facts), State::Paused);
        facts.held = Held::Frozen;
        assert_eq!(state(&facts), State::Unreachable);
        facts.held = Held::Exited;
        assert_eq!(state(&facts), State::Starting);
        facts.operation = Operation::Stopping;
        assert_eq!(state(&facts), State::Stopping);
        facts.held = Held::Unknown;
        assert_eq!(state(&facts), State::Unknown);
        facts.failed = "restarted 5 times";
        assert_eq!(state(&facts), State::Failed);
        facts.goal = Goal::Stopped;
        facts.held = Held::Exited;
        assert_eq!(state(&facts), State::Stopped);
    }

    #[test]
    fn parks_carry_their_end_and_their_reason() {
        for (said, shown) in [
            (HarnessState::RateLimited, State::RateLimited),
            (HarnessState::NeedsLogin, State::NeedsLogin),
            (HarnessState::BudgetExhausted, State::BudgetExhausted),
        ] {
            let mut facts = healthy();
            facts.session = live(said);
            let expected = Shown {
                state: shown,
                until: Some(UnixMs(5)),
                detail: "the provider says so".into(),
            };
            assert_eq!(Shown::of(&facts), expected);
        }
    }

    #[test]
    fn a_harness_that_claims_to_think_without_a_lease_is_idle() {
        for said in [HarnessState::Thinking, HarnessState::Compacting] {
            let mut facts = healthy();
            facts.session = live(said);
            assert_eq!(state(&facts), State::Idle, "{said:?}");
        }
    }

    #[test]
    fn stopped_is_only_said_of_what_is_known_not_to_run() {
        for (held, expected) in [
            (Held::Unknown, State::Unknown),
            (Held::Unseen, State::Stopped),
            (Held::Running, State::Stopping),
            (Held::Frozen, State::Stopping),
            (Held::Absent, State::Stopped),
            (Held::Made, State::Stopped),
            (Held::Exited, State::Stopped),
        ] {
            let mut facts = healthy();
            facts.goal = Goal::Stopped;
            facts.held = held;
            assert_eq!(state(&facts), expected, "{held:?}");
        }
    }

    #[test]
    fn a_restart_says_how_the_last_run_ended() {
        let mut facts = healthy();
        facts.held = Held::Exited;
        facts.runtime_detail = "out of memory";
        let shown = Shown::of(&facts);
        assert_eq!(shown.state, State::Starting);
        assert_eq!(shown.detail, "out of memory");
    }

    #[test]
    fn what_was_made_a_moment_ago_is_starting() {
        let mut facts = healthy();
        facts.held = Held::Unseen;
        assert_eq!(state(&facts), State::Starting);
    }

    #[test]
    fn a_fresh_instance_is_starting_until_its_harness_comes() {
        let mut facts = healthy();
        facts.session = Session::Awaited;
        assert_eq!(state(&facts), State::Starting);
    }
}
