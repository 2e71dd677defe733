//! The one table of what each service's error is to a caller: reason, sentence, hint. Every edge of
//! the broker (gRPC, the JSON line, the web) refuses by it.

use hive_proto::Refusal;
use hive_proto::name::NameError;
use hive_proto::v1::Reason;

use crate::agents::AgentsError;
use crate::approvals::ApprovalError;
use crate::backup::BackupError;
use crate::inbox::InboxError;
use crate::loose_ends::LooseEndError;
use crate::notify::NotifyError;
use crate::questions::QuestionError;
use crate::reminders::ReminderError;
use crate::runtime::RuntimeError;
use crate::schedules::ScheduleError;
use crate::sessions::SessionError;
use crate::sockets::SocketsError;
use crate::status::StatusError;
use crate::store::StoreError;
use crate::topology::Unresolved;
use crate::turns::TurnError;

const RECIPIENTS_HINT: &str = "the operator lists whom an agent may write to: `hive agent rights`";

/// What a caller learns of an error: never an inward path, row or statement.
pub trait Refuse {
    fn refusal(&self) -> Refusal;
}

impl Refuse for StoreError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Conflict { .. } => Reason::WrongState,
            Self::NotFound(_) => Reason::NotFound,
            Self::Full => Reason::StorageFull,
            Self::SchemaTooNew { .. } => Reason::SchemaTooNew,
            Self::Stopped => Reason::Unavailable,
            Self::Fsync(_) | Self::Corrupt { .. } | Self::Illegal(_) | Self::Sqlite(_) => {
                tracing::error!(error = %self, "the store failed");
                return Refusal::new(Reason::Internal, "the store failed");
            }
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for NameError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Malformed(_) => Reason::InvalidName,
            Self::Reserved(_) => Reason::ReservedName,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for Unresolved {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Name(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::UnknownAgent(_) => Reason::UnknownAgent,
            Self::NoManager(_) | Self::Nobody => Reason::NotFound,
            Self::ManyManagers(_) => Reason::InvalidArgument,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for InboxError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Recipient(error) => return error.refusal(),
            Self::Label(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::LabelIsAgent(_) => Reason::ReservedName,
            Self::BodyTooLarge { .. } => Reason::BodyTooLarge,
            Self::EmptyBody | Self::KeyTooLong { .. } | Self::BatchTooLarge { .. } => {
                Reason::InvalidArgument
            }
            Self::KeyConflict(_) => Reason::KeyConflict,
            Self::MailboxFull { .. } => Reason::MailboxFull,
            Self::NoSuchMessage(_) => Reason::NotFound,
            Self::NotYours(_) => Reason::NotPermitted,
            Self::NotAllowed { .. } => {
                return Refusal::new(Reason::NotPermitted, self.to_string())
                    .with_hint(RECIPIENTS_HINT);
            }
            Self::NotDead(_) | Self::NotOpen(_) => Reason::WrongState,
            Self::RecipientPurged(..) => {
                return Refusal::new(Reason::WrongState, self.to_string())
                    .with_hint("send it to somebody who is there");
            }
            Self::Stale { .. } => Reason::StaleEpoch,
            Self::Stopping => Reason::Unavailable,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for QuestionError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Target(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::ToEveryone
            | Self::ToItself
            | Self::Empty(_)
            | Self::TooManyOptions { .. }
            | Self::OptionTwice(_)
            | Self::NothingToChoose => Reason::InvalidArgument,
            Self::TooLong { .. } => Reason::BodyTooLarge,
            Self::KeyConflict(_) => Reason::KeyConflict,
            Self::NotAllowed { .. } => {
                return Refusal::new(Reason::NotPermitted, self.to_string())
                    .with_hint(RECIPIENTS_HINT);
            }
            Self::TooManyOpen { .. } => {
                let hint = "get_loose_ends lists them, cancel_loose_end withdraws one";
                return Refusal::new(Reason::LimitReached, self.to_string()).with_hint(hint);
            }
            Self::MailboxFull { .. } => Reason::MailboxFull,
            Self::NoSuchQuestion(_) => Reason::NotFound,
            Self::NotTarget { .. } | Self::NotAsker { .. } | Self::NotWaiting { .. } => {
                Reason::NotPermitted
            }
            Self::AlreadyDecided { .. } => Reason::AlreadyDecided,
            Self::Stale { .. } => Reason::StaleEpoch,
            Self::NotOpen(_) => Reason::WrongState,
            Self::Stopping => Reason::Unavailable,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for ReminderError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Store(error) => return error.refusal(),
            Self::Empty => Reason::InvalidArgument,
            Self::NoTime { .. } | Self::Past { .. } | Self::TooFar { .. } => {
                let hint = "a time is RFC 3339 like 2027-01-31T09:00:00Z, Unix seconds, or a span \
                    from now like `in 10m` or `1h30m`";
                return Refusal::new(Reason::InvalidArgument, self.to_string()).with_hint(hint);
            }
            Self::TooLong { .. } => Reason::BodyTooLarge,
            Self::KeyConflict(_) => Reason::KeyConflict,
            Self::TooMany { .. } => {
                let hint = "get_loose_ends lists them, cancel_loose_end cancels one";
                return Refusal::new(Reason::LimitReached, self.to_string()).with_hint(hint);
            }
            Self::NoSuchAgent(_) => Reason::UnknownAgent,
            Self::NoSuchReminder(_) => Reason::NotFound,
            Self::NotYours { .. } => Reason::NotPermitted,
            Self::WrongState { .. } => Reason::WrongState,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for LooseEndError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Question(error) => return error.refusal(),
            Self::Reminder(error) => return error.refusal(),
            Self::Approval(error) => return error.refusal(),
            Self::Schedule(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::UnknownKind(_) => Reason::InvalidArgument,
            Self::UnknownAgent(_) => Reason::UnknownAgent,
            Self::NotManager => Reason::WrongRole,
            Self::NotBelow(_) => Reason::NotInSubtree,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for SessionError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Taken => Reason::SessionTaken,
            Self::LevelNotServed { .. } => Reason::VersionTooOld,
            Self::Stale { .. } => Reason::StaleEpoch,
            Self::BadInstance => Reason::InvalidArgument,
            Self::AgentGone => Reason::UnknownAgent,
            Self::Stopping => Reason::Unavailable,
            Self::Store(error) => return error.refusal(),
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for TurnError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Stale { .. } => Reason::StaleEpoch,
            Self::NoSuchTurn(_) => Reason::NotFound,
            Self::NotYours(_) => Reason::NotPermitted,
            Self::Outcome(_) => Reason::InvalidArgument,
            Self::NothingRuns | Self::NotConnected => Reason::WrongState,
            Self::Store(error) => return error.refusal(),
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for AgentsError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Runtime(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::Unknown(_) | Self::UnknownParent(_) | Self::Gone(_) => Reason::UnknownAgent,
            Self::AlreadyExists(_) => Reason::AlreadyExists,
            Self::Cycle { .. } => Reason::Cycle,
            Self::UnknownEngine(_)
            | Self::TooLong { .. }
            | Self::BadScript(_)
            | Self::BadRecipient(_) => Reason::InvalidArgument,
            Self::Untrusted(_) => {
                let hint = "use Docker, or set runtime.process.trusted = true in hive.toml";
                return Refusal::new(Reason::NotPermitted, self.to_string()).with_hint(hint);
            }
            Self::BeingPurged(_) => {
                let hint = "wait a moment; `hive status` says what is in the way, if anything is";
                return Refusal::new(Reason::WrongState, self.to_string()).with_hint(hint);
            }
            Self::PurgeStuck { .. } => {
                let hint = "hived tries again until it works; its name is free then";
                return Refusal::new(Reason::Internal, self.to_string()).with_hint(hint);
            }
            Self::Denied { .. } => Reason::WrongState,
            Self::NeverRan(_) => Reason::NotFound,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for RuntimeError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Unavailable { .. } => Reason::RuntimeUnavailable,
            Self::NoImage(_) | Self::NotFound(_) => Reason::NotFound,
            Self::NameTaken(_) => Reason::AlreadyExists,
            Self::Refused(_) => Reason::NotPermitted,
            Self::Failed(_) => Reason::Internal,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for ApprovalError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Unknown(_) => Reason::NotFound,
            Self::AlreadyDecided { .. } => Reason::AlreadyDecided,
            Self::Expired(_) => Reason::Expired,
            Self::Cancelled { .. } => Reason::WrongState,
            Self::DigestMismatch { .. } => Reason::DigestMismatch,
            Self::TooLong { .. } | Self::KeyTooLong { .. } | Self::NotCanonical(_) => {
                Reason::InvalidArgument
            }
            Self::TooMany { .. } => {
                let hint = "get_loose_ends lists them, cancel_loose_end takes one back";
                return Refusal::new(Reason::LimitReached, self.to_string()).with_hint(hint);
            }
            Self::KeyConflict(_) => Reason::KeyConflict,
            Self::NotYours { .. } => Reason::NotPermitted,
            Self::Store(error) => return error.refusal(),
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for ScheduleError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Name(error) => return error.refusal(),
            Self::Approval(error) => return error.refusal(),
            Self::Inbox(error) => return error.refusal(),
            Self::Store(error) => return error.refusal(),
            Self::Unknown(_) | Self::NotATarget { .. } => Reason::NotFound,
            Self::NotInSubtree { .. } => Reason::NotInSubtree,
            Self::OutOfReach(_) => Reason::NotPermitted,
            Self::NotActive { .. } => Reason::WrongState,
            Self::UnknownTarget(_) | Self::Gone => Reason::UnknownAgent,
            Self::BodyTooLarge { .. } => Reason::BodyTooLarge,
            Self::TooMany { .. } => Reason::LimitReached,
            Self::NoTarget(_)
            | Self::NoTargets
            | Self::TooManyTargets { .. }
            | Self::EmptyBody
            | Self::DescriptionTooLong { .. }
            | Self::Timing(_)
            | Self::NothingToChange => Reason::InvalidArgument,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for StatusError {
    fn refusal(&self) -> Refusal {
        match self {
            Self::Agents(error) => error.refusal(),
            Self::Approvals(error) => error.refusal(),
            Self::Inbox(error) => error.refusal(),
            Self::Notify(error) => error.refusal(),
            Self::Store(error) => error.refusal(),
        }
    }
}

impl Refuse for NotifyError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Store(error) => return error.refusal(),
            Self::NoChannels => {
                let hint = "docs/notifications.md shows how to add one";
                return Refusal::new(Reason::WrongState, self.to_string()).with_hint(hint);
            }
            Self::NoSuchChannel(_) | Self::NoSuchNotification(_) => Reason::NotFound,
            Self::NotDead(_) | Self::ChannelGone(_) => Reason::WrongState,
        };
        Refusal::new(reason, self.to_string())
    }
}

impl Refuse for BackupError {
    fn refusal(&self) -> Refusal {
        match self {
            Self::Stopping => Refusal::new(Reason::Unavailable, self.to_string()),
            Self::Read(_) => Refusal::new(Reason::Internal, self.to_string()),
            Self::Store(error) => error.refusal(),
        }
    }
}

impl Refuse for SocketsError {
    fn refusal(&self) -> Refusal {
        let reason = match self {
            Self::Stopping => Reason::Unavailable,
            Self::Bind(_) | Self::Directory { .. } => Reason::Internal,
        };
        Refusal::new(reason, self.to_string())
    }
}
