//! How a turn ended → what becomes of its messages, and who is told.
//!
//! | ended | message | counted | told |
//! |---|---|---|---|
//! | ok, compacted | acked `ok` | | |
//! | cancelled | acked `cancelled` | | sender |
//! | failed for good | acked `failed` | | sender, parent |
//! | failed for now | queued after a back-off | yes | |
//! | rate limited, no login, no budget, interrupted | queued | no | |
//! | lost: the harness died | queued at once | yes | |
//! | lost: the harness was stopped | queued at once | no | |
//!
//! A message that is counted for the sixth time is dead; then sender, parent and operator are told.

use hive_proto::v1::{FailureClass, Outcome};
use hive_proto::words;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Ok,
    Compacted,
    Parked(Park),
    Cancelled,
    Interrupted,
    FailedForNow(FailureClass),
    FailedForGood(FailureClass),
    /// The broker's own judgement: nobody ended it.
    Lost(Loss),
}

/// What a parked harness waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Park {
    RateLimit,
    Login,
    Budget,
}

/// How the holder of a lease went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It died on its own, or nobody knows: the message may be what killed it.
    WithHarness,
    /// hive stopped it.
    Stopped,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    Finish(Finish),
    Requeue(Requeue),
}

/// The result of a finished message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Ok,
    Cancelled,
    Failed,
    /// Read by the operator.
    Read,
}

/// How a message goes back to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Not its fault.
    Uncounted,
    /// One death more, and it runs again at once.
    Counted,
    /// One death more, and it waits.
    CountedBackoff,
}

/// Who is told that a message was finished without being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Nobody,
    Sender,
    SenderAndParent,
}

/// The harness reported what only the broker may say, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a harness does not end a turn as {0:?}")]
pub struct NotReported(pub Outcome);

// === impl TurnEnd ===

impl TurnEnd {
    /// What the harness reports. A failure without a class counts as a crash.
    ///
    /// # Errors
    /// When there is no outcome, or it is the broker's own.
    pub fn reported(outcome: Outcome, failure: FailureClass) -> Result<Self, NotReported> {
        use FailureClass as F;
        Ok(match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Compacted => Self::Compacted,
            Outcome::RateLimited => Self::Parked(Park::RateLimit),
            Outcome::AuthFailed => Self::Parked(Park::Login),
            Outcome::BudgetExhausted => Self::Parked(Park::Budget),
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Failed => match failure {
                F::Unspecified => Self::FailedForNow(F::Crashed),
                F::Overloaded | F::Network | F::Crashed | F::Timeout => Self::FailedForNow(failure),
                F::Config | F::Refused | F::ContextFull | F::BadSession => {
                    Self::FailedForGood(failure)
                }
            },
            Outcome::Unspecified | Outcome::Lost => return Err(NotReported(outcome)),
        })
    }

    /// The word of the outcome, as stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        words::outcome(match self {
            Self::Ok => Outcome::Ok,
            Self::Compacted => Outcome::Compacted,
            Self::Parked(Park::RateLimit) => Outcome::RateLimited,
            Self::Parked(Park::Login) => Outcome::AuthFailed,
            Self::Parked(Park::Budget) => Outcome::BudgetExhausted,
            Self::Cancelled => Outcome::Cancelled,
            Self::Interrupted => Outcome::Interrupted,
            Self::FailedForNow(_) | Self::FailedForGood(_) => Outcome::Failed,
            Self::Lost(_) => Outcome::Lost,
        })
    }

    /// The word of the failure's class; empty when it did not fail.
    #[must_use]
    pub fn failure_word(self) -> &'static str {
        match self {
            Self::FailedForNow(class) | Self::FailedForGood(class) => words::failure(class),
            Self::Ok
            | Self::Compacted
            | Self::Parked(_)
            | Self::Cancelled
            | Self::Interrupted
            | Self::Lost(_) => "",
        }
    }

    /// What becomes of the turn's messages.
    #[must_use]
    pub fn settlement(self) -> Settlement {
        match self {
            Self::Ok | Self::Compacted => Settlement::Finish(Finish::Ok),
            Self::Cancelled => Settlement::Finish(Finish::Cancelled),
            Self::FailedForGood(_) => Settlement::Finish(Finish::Failed),
            Self::Parked(_) | Self::Interrupted | Self::Lost(Loss::Stopped) => {
                Settlement::Requeue(Requeue::Uncounted)
            }
            Self::FailedForNow(_) => Settlement::Requeue(Requeue::CountedBackoff),
            Self::Lost(Loss::WithHarness) => Settlement::Requeue(Requeue::Counted),
        }
    }

    /// Who is told when the messages are finished by it.
    #[must_use]
    pub fn told(self) -> Told {
        match self {
            Self::Cancelled => Told::Sender,
            Self::FailedForGood(_) => Told::SenderAndParent,
            Self::Ok
            | Self::Compacted
            | Self::Parked(_)
            | Self::Interrupted
            | Self::FailedForNow(_)
            | Self::Lost(_) => Told::Nobody,
        }
    }
}

// === impl Finish ===

impl Finish {
    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Read => "read",
        }
    }

    /// The reverse of [`Finish::word`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Ok, Self::Cancelled, Self::Failed, Self::Read]
            .into_iter()
            .find(|how| how.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{FailureClass as F, Outcome as O};

    use super::{Finish, Loss, NotReported, Requeue, Settlement, Told, TurnEnd};

    #[test]
    fn every_outcome_settles_as_the_table_says() {
        let finish = |how, told| (Settlement::Finish(how), told);
        let requeue = |how| (Settlement::Requeue(how), Told::Nobody);
        let table = [
            (O::Ok, F::Unspecified, finish(Finish::Ok, Told::Nobody)),
            (
                O::Compacted,
                F::Unspecified,
                finish(Finish::Ok, Told::Nobody),
            ),
            (O::RateLimited, F::Unspecified, requeue(Requeue::Uncounted)),
            (O::AuthFailed, F::Unspecified, requeue(Requeue::Uncounted)),
            (
                O::BudgetExhausted,
                F::Unspecified,
                requeue(Requeue::Uncounted),
            ),
            (
                O::Cancelled,
                F::Unspecified,
                finish(Finish::Cancelled, Told::Sender),
            ),
            (O::Interrupted, F::Unspecified, requeue(Requeue::Uncounted)),
            (O::Failed, F::Unspecified, requeue(Requeue::CountedBackoff)),
            (O::Failed, F::Overloaded, requeue(Requeue::CountedBackoff)),
            (O::Failed, F::Network, requeue(Requeue::CountedBackoff)),
            (O::Failed, F::Crashed, requeue(Requeue::CountedBackoff)),
            (O::Failed, F::Timeout, requeue(Requeue::CountedBackoff)),
            (
                O::Failed,
                F::Config,
                finish(Finish::Failed, Told::SenderAndParent),
            ),
            (
                O::Failed,
                F::Refused,
                finish(Finish::Failed, Told::SenderAndParent),
            ),
            (
                O::Failed,
                F::ContextFull,
                finish(Finish::Failed, Told::SenderAndParent),
            ),
            (
                O::Failed,
                F::BadSession,
                finish(Finish::Failed, Told::SenderAndParent),
            ),
        ];
        for (outcome, failure, expected) in table {
            let end = TurnEnd::reported(outcome, failure).unwrap();
            assert_eq!(
                (end.settlement(), end.told()),
                expected,
                "{outcome:?} {failure:?}"
            );
            assert_eq!(end.word(), hive_proto::words::outcome(outcome));
        }
    }

    #[test]
    fn only_the_broker_loses_turns() {
        assert_eq!(
            TurnEnd::reported(O::Lost, F::Unspecified),
            Err(NotReported(O::Lost))
        );
        assert!(TurnEnd::reported(O::Unspecified, F::Unspecified).is_err());
        let settled = |loss| TurnEnd::Lost(loss).settlement();
        assert_eq!(
            settled(Loss::Stopped),
            Settlement::Requeue(Requeue::Uncounted)
        );
        assert_eq!(
            settled(Loss::WithHarness),
            Settlement::Requeue(Requeue::Counted)
        );
    }
}
