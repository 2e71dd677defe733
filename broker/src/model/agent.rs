//! One agent's next step: what is wanted, what the runtime says, and what therefore is to be done.
//!
//! The driver asks again after every step, so each step may fail, be repeated, or be interrupted by
//! a crash of the daemon at any point: the next look finds what is left to do.
//!
//! ```text
//!          Create        Start
//! absent ─────────▶ made ─────▶ running ──┐ dies: Await, then Start (or GiveUp)
//!    ▲                ▲            │ Stop  │
//!    └──── Remove ────┴──── exited ◀───────┘
//! ```

use hive_proto::ids::UnixMs;

use super::restart::{Plan, Rule};

/// What is wanted of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Running,
    Stopped,
    /// Nothing of it is to be left in the runtime.
    Removed,
}

/// What the runtime holds of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The runtime cannot be asked.
    Unknown,
    /// Recorded a moment ago: nobody has looked yet.
    Unseen,
    Absent,
    /// Made, never started.
    Made,
    Running,
    /// Frozen by someone outside hive.
    Frozen,
    Exited,
}

/// Whether what is held was made from what is wanted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Same,
    /// Made from another spec: it goes on running, and is replaced when it is started again.
    Drifted,
}

/// Why it does not run at the moment, or is not to go on running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing known: first look after a start of the daemon, or a fresh agent.
    Fresh,
    /// A restart was asked for and has not been carried out.
    RestartAsked,
    /// hive stopped it itself on the way to something else.
    StoppedByHive,
    /// It ended by itself.
    Died { at: UnixMs },
}

/// Everything the decision depends on.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    pub goal: Goal,
    pub held: Held,
    pub drift: Match,
    pub cause: Cause,
    /// Recorded: the restart plan gave up.
    pub given_up: bool,
    pub restarts: &'a [UnixMs],
    pub now: UnixMs,
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing until something changes.
    Rest,
    /// Nothing before this time.
    Await(UnixMs),
    Create,
    /// `counted`: restarts to record with it; none for a start that was asked for.
    Start {
        counted: Option<Vec<UnixMs>>,
    },
    Stop,
    Remove,
    /// Record that it failed.
    GiveUp {
        restarts: usize,
    },
    /// Nothing of it is left.
    Finished,
}

/// The pure decision.
#[must_use]
pub fn next(rule: &Rule, situation: &Situation<'_>) -> Step {
    match (situation.goal, situation.held) {
        (_, Held::Unknown | Held::Unseen) => Step::Rest,
        (Goal::Removed, Held::Absent) => Step::Finished,
        (Goal::Removed, Held::Made | Held::Exited) => Step::Remove,
        (Goal::Removed | Goal::Stopped, Held::Running | Held::Frozen) => Step::Stop,
        (Goal::Stopped, Held::Absent | Held::Made | Held::Exited) => Step::Rest,
        (Goal::Running, Held::Running | Held::Frozen) => match situation.cause {
            Cause::RestartAsked => Step::Stop,
            Cause::Fresh | Cause::StoppedByHive | Cause::Died { .. } => Step::Rest,
        },
        (Goal::Running, Held::Absent | Held::Made | Held::Exited) => bring_up(rule, situation),
    }
}

/// It is to run and does not.
fn bring_up(rule: &Rule, situation: &Situation<'_>) -> Step {
    if situation.given_up {
        return Step::Rest;
    }
    let counted = match situation.cause {
        Cause::Died { at } => match rule.after_death(situation.restarts, at) {
            Plan::GiveUp { restarts } => return Step::GiveUp { restarts },
            Plan::Restart { at, .. } if at > situation.now => return Step::Await(at),
            Plan::Restart { counted, .. } => Some(counted),
        },
        Cause::Fresh | Cause::RestartAsked | Cause::StoppedByHive => None,
    };
    match (situation.held, situation.drift) {
        (Held::Absent, _) => Step::Create,
        (_, Match::Drifted) => Step::Remove,
        (_, Match::Same) => Step::Start { counted },
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{Cause, Goal, Held, Match, Situation, Step, next};
    use crate::model::restart::Rule;

    const NOW: UnixMs = UnixMs(1_000_000_000);
    const HELD: [Held; 7] = [
        Held::Unknown,
        Held::Unseen,
        Held::Absent,
        Held::Made,
        Held::Running,
        Held::Frozen,
        Held::Exited,
    ];

    fn at(goal: Goal, held: Held) -> Situation<'static> {
        Situation {
            goal,
            held,
            drift: Match::Same,
            cause: Cause::Fresh,
            given_up: false,
            restarts: &[],
            now: NOW,
        }
    }

    fn step(situation: &Situation<'_>) -> Step {
        next(&Rule::default(), situation)
    }

    #[test]
    fn the_whole_table_of_goals() {
        let start = Step::Start { counted: None };
        let expected = |goal| match goal {
            Goal::Running => [
                Step::Rest,
                Step::Rest,
                Step::Create,
                start.clone(),
                Step::Rest,
                Step::Rest,
                start.clone(),
            ],
            Goal::Stopped => [
                Step::Rest,
                Step::Rest,
                Step::Rest,
                Step::Rest,
                Step::Stop,
                Step::Stop,
                Step::Rest,
            ],
            Goal::Removed => [
                Step::Rest,
                Step::Rest,
                Step::Finished,
                Step::Remove,
                Step::Stop,
                Step::Stop,
                Step::Remove,
            ],
        };
        for goal in [Goal::Running, Goal::Stopped, Goal::Removed] {
            let steps = HELD.map(|held| step(&at(goal, held)));
            assert_eq!(steps, expected(goal), "{goal:?}");
        }
    }

    #[test]
    fn a_runtime_that_cannot_be_asked_means_nothing_is_done() {
        for goal in [Goal::Running, Goal::Stopped, Goal::Removed] {
            let mut situation = at(goal, Held::Unknown);
            situation.cause = Cause::Died { at: NOW };
            assert_eq!(step(&situation), Step::Rest);
        }
    }

    #[test]
    fn a_death_waits_and_is_then_counted() {
        let mut situation = at(Goal::Running, Held::Exited);
        situation.cause = Cause::Died { at: NOW };
        let due = NOW.plus_ms(500);
        assert_eq!(step(&situation), Step::Await(due));
        situation.now = due;
        let counted = Some(vec![due]);
        assert_eq!(step(&situation), Step::Start { counted });
    }

    #[test]
    fn the_sixth_death_gives_up_and_stays_so() {
        let restarts = vec![NOW.plus_ms(-1_000); 5];
        let mut situation = at(Goal::Running, Held::Exited);
        situation.cause = Cause::Died { at: NOW };
        situation.restarts = &restarts;
        assert_eq!(step(&situation), Step::GiveUp { restarts: 5 });
        situation.given_up = true;
        assert_eq!(step(&situation), Step::Rest);
    }

    #[test]
    fn drift_alone_restarts_nothing_but_a_restart_replaces_it() {
        let mut situation = at(Goal::Running, Held::Running);
        situation.drift = Match::Drifted;
        assert_eq!(step(&situation), Step::Rest);
        situation.cause = Cause::RestartAsked;
        assert_eq!(step(&situation), Step::Stop);
        situation.held = Held::Exited;
        assert_eq!(step(&situation), Step::Remove);
        situation.held = Held::Absent;
        assert_eq!(step(&situation), Step::Create);
    }
}
