//! What a script says, after it was read and checked.

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Regex;

use super::template::Template;
use crate::v1::{FailureClass, Outcome};

/// The rules of one file, in its order: the first one that matches a message answers it.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub rules: Vec<Rule>,
}

/// Which messages it answers, and how. Every condition that is absent holds.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// The agent that got the message.
    pub agent: Option<String>,
    /// Who sent it.
    pub from: Option<String>,
    /// Found anywhere in the body; its groups are `{{1}}`, `{{2}}`…
    pub body: Option<Regex>,
    /// Whether an earlier delivery of the message did not end in an ack.
    pub redelivered: Option<bool>,
    /// Only the nth message for which everything else holds, counted from 1.
    pub nth: Option<u32>,
    /// Only the first so many messages for which everything else holds.
    pub times: Option<u32>,
    pub steps: Vec<Step>,
}

/// One step of a rule.
#[derive(Clone, Debug)]
pub struct Step {
    /// Line of the file, counted from 1.
    pub line: usize,
    pub act: Act,
    /// Name under which later steps find this step's result.
    pub save: Option<String>,
    /// For [`Act::Fail`] and [`Act::Crash`]: happens this often and is passed over afterwards;
    /// `None`: always.
    pub times: Option<u32>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Act {
    /// The model says a text.
    Say(Template),
    /// The model calls a tool: one of hive's by its bare name (`send`), an engine's own by the
    /// engine's name (`Read`).
    Tool { name: String, args: Args },
    /// The model runs a command line with Bash.
    Shell(Template),
    /// The model takes its time.
    Wait(Duration),
    /// The model call goes wrong.
    Fail(Failure),
    /// A process dies, without a word.
    Crash(Crash),
    /// The turn ends well here.
    End,
}

/// How a model call goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Class(FailureClass),
    RateLimited {
        retry_after: Option<Duration>,
    },
    AuthFailed,
    BudgetExhausted,
    /// This HTTP status, 400 to 599.
    Status {
        code: u16,
        retry_after: Option<Duration>,
    },
    /// The answer begins, then nothing comes for so long, then the connection is cut.
    Stall(Duration),
    /// The connection is cut in the middle of the answer.
    Drop,
    /// The answer is cut off at the output token limit.
    MaxTokens,
}

/// Who dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    Engine,
    Harness,
}

/// How a turn ends when its engine gives up after a [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub outcome: Outcome,
    /// `Unspecified` unless the outcome is `Failed`.
    pub failure: FailureClass,
    /// For a rate limit that names its time.
    pub retry_after: Option<Duration>,
}

/// Arguments of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum Args {
    Text(Template),
    /// A number or a truth value.
    Fixed(serde_json::Value),
    List(Vec<Self>),
    Table(BTreeMap<String, Self>),
}

// === impl Failure ===

impl Failure {
    /// What a turn ends with after this failure, for an engine without retries of its own; `None`
    /// when a turn goes on regardless.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        let failed = |failure| Some(Ending::new(Outcome::Failed, failure));
        let parked = |outcome| Some(Ending::new(outcome, FailureClass::Unspecified));
        match self {
            Self::Class(class) => failed(*class),
            Self::RateLimited { retry_after }
            | Self::Status {
                code: 429,
                retry_after,
            } => Some(Ending {
                retry_after: *retry_after,
                ..Ending::new(Outcome::RateLimited, FailureClass::Unspecified)
            }),
            Self::AuthFailed
            | Self::Status {
                code: 401 | 403, ..
            } => parked(Outcome::AuthFailed),
            Self::BudgetExhausted | Self::Status { code: 402, .. } => {
                parked(Outcome::BudgetExhausted)
            }
            Self::Status { code, .. } if *code >= 500 => failed(FailureClass::Overloaded),
            Self::Status { .. } => failed(FailureClass::Config),
            Self::Stall(_) => failed(FailureClass::Timeout),
            Self::Drop => failed(FailureClass::Network),
            Self::MaxTokens => None,
        }
    }
}

// === impl Ending ===

impl Ending {
    fn new(outcome: Outcome, failure: FailureClass) -> Self {
        Self {
            outcome,
            failure,
            retry_after: None,
        }
    }
}
