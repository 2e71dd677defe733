//! The one table reason → gRPC code, HTTP status, exit code and hint, and the error that carries a
//! reason over the wire.

use prost::Message as _;
use tonic::{Code, Status};

use crate::v1::{ErrorDetail, Reason};

/// A refusal or failure as the caller sees it: a reason, one lower-case sentence, maybe a hint.
///
/// Domain errors know nothing of it; each edge maps them into this once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub reason: Reason,
    pub message: String,
    /// What the caller can do; empty when there is nothing.
    pub hint: String,
}

/// One row of the table.
struct Row {
    word: &'static str,
    code: Code,
    http: u16,
    exit: u8,
    hint: &'static str,
}

// === impl Refusal ===

impl Refusal {
    /// A refusal with the table's own hint.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            hint: row(reason).hint.to_owned(),
        }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The refusal inside a status, or the nearest reason when the status carries none.
    ///
    /// A client's own deadline arrives from tonic as `Cancelled`, an oversize message as
    /// `OutOfRange`; both are mapped here.
    #[must_use]
    pub fn from_status(status: &Status) -> Self {
        if let Some(refusal) = Self::carried(status) {
            return refusal;
        }
        let reason = match status.code() {
            Code::Cancelled | Code::DeadlineExceeded => Reason::Timeout,
            Code::OutOfRange => Reason::BodyTooLarge,
            Code::InvalidArgument => Reason::InvalidArgument,
            Code::NotFound => Reason::NotFound,
            Code::PermissionDenied | Code::Unimplemented => Reason::NotPermitted,
            Code::Unavailable => Reason::Unavailable,
            _ => Reason::Internal,
        };
        Self::new(reason, status.message())
    }

    /// The refusal that the broker itself put into a status; `None` for a status that the transport
    /// made up.
    #[must_use]
    pub fn carried(status: &Status) -> Option<Self> {
        let detail = ErrorDetail::decode(status.details()).ok()?;
        let reason = detail.reason();
        (reason != Reason::Unspecified).then_some(Self {
            reason,
            message: detail.message,
            hint: detail.hint,
        })
    }

    #[must_use]
    pub fn detail(&self) -> ErrorDetail {
        ErrorDetail {
            reason: self.reason.into(),
            message: self.message.clone(),
            hint: self.hint.clone(),
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let details = refusal.detail().encode_to_vec();
        Self::with_details(row(refusal.reason).code, refusal.message, details.into())
    }
}

/// The snake_case word used in JSON, logs and docs.
#[must_use]
pub fn word(reason: Reason) -> &'static str {
    row(reason).word
}

/// The HTTP status at the web edge.
#[must_use]
pub fn http_status(reason: Reason) -> u16 {
    row(reason).http
}

/// The exit code of the `hive` command (contract: 1 failed, 2 usage, 3 not found, 4 refused,
/// 5 unreachable, 6 timed out).
#[must_use]
pub fn exit_code(reason: Reason) -> u8 {
    row(reason).exit
}

/// Whether the same call, made again later with its key, can succeed without anyone acting.
#[must_use]
pub fn is_transient(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unavailable | Reason::Timeout | Reason::RateLimited
    )
}

/// The table, one line a reason.
#[rustfmt::skip]
fn row(reason: Reason) -> Row {
    use Code as C;
    use Reason as R;
    let (word, code, http, exit, hint) = match reason {
        R::Unspecified | R::Internal => ("internal", C::Internal, 500, 1, "see hived's log"),
        R::InvalidName => ("invalid_name", C::InvalidArgument, 400, 2, "names are a-z, 0-9 and '-', beginning with a letter, at most 31 characters"),
        R::InvalidArgument => ("invalid_argument", C::InvalidArgument, 400, 2, ""),
        R::UnknownAgent => ("unknown_agent", C::NotFound, 404, 3, "`hive agent ls` lists the agents"),
        R::NotFound => ("not_found", C::NotFound, 404, 3, ""),
        R::ReservedName => ("reserved_name", C::InvalidArgument, 400, 2, "choose another name"),
        R::AlreadyExists => ("already_exists", C::AlreadyExists, 409, 4, ""),
        R::KeyConflict => ("key_conflict", C::AlreadyExists, 409, 4, "use a new key for a new body, or send the first body again"),
        R::MailboxFull => ("mailbox_full", C::ResourceExhausted, 429, 4, "wait until the recipient has read, or start it if it is stopped"),
        R::BodyTooLarge => ("body_too_large", C::InvalidArgument, 413, 2, "put it in a file and send its path, or send it in parts"),
        R::NotPermitted => ("not_permitted", C::PermissionDenied, 403, 4, ""),
        R::WrongRole => ("wrong_role", C::PermissionDenied, 403, 4, "only a manager may do this"),
        R::NotInSubtree => ("not_in_subtree", C::PermissionDenied, 403, 4, ""),
        R::StaleEpoch => ("stale_epoch", C::FailedPrecondition, 409, 4, "another session of this agent took over; open a new session"),
        R::SessionTaken => ("session_taken", C::FailedPrecondition, 409, 4, "another harness serves this agent; stop it first"),
        R::AlreadyDecided => ("already_decided", C::FailedPrecondition, 409, 4, ""),
        R::WrongState => ("wrong_state", C::FailedPrecondition, 409, 4, ""),
        R::DigestMismatch => ("digest_mismatch", C::FailedPrecondition, 409, 4, "show it again and decide on what is shown"),
        R::Expired => ("expired", C::FailedPrecondition, 410, 4, ""),
        R::Cycle => ("cycle", C::FailedPrecondition, 409, 4, ""),
        R::LimitReached => ("limit_reached", C::ResourceExhausted, 429, 4, ""),
        R::RateLimited => ("rate_limited", C::ResourceExhausted, 429, 4, "try again later"),
        R::BudgetExhausted => ("budget_exhausted", C::ResourceExhausted, 402, 4, ""),
        R::RuntimeUnavailable => ("runtime_unavailable", C::Unavailable, 503, 1, "`hive doctor` says what the runtime lacks"),
        R::StorageFull => ("storage_full", C::ResourceExhausted, 507, 1, "free space on the disk that holds the hive; nothing was stored"),
        R::SchemaTooNew => ("schema_too_new", C::FailedPrecondition, 409, 1, "run the hived that wrote it, or a newer one"),
        R::VersionTooOld => ("version_too_old", C::FailedPrecondition, 409, 4, "`hive agent restart` gives the agent the installed hive"),
        R::Unavailable => ("unavailable", C::Unavailable, 503, 5, "is hived running? `hive up` starts it, `hive doctor` says what is wrong"),
        R::Timeout => ("timeout", C::DeadlineExceeded, 504, 6, ""),
    };
    Row { word, code, http, exit, hint }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tonic::{Code, Status};

    use super::{Refusal, exit_code, word};
    use crate::v1::Reason;

    fn all() -> impl Iterator<Item = Reason> {
        (0..).map_while(|n| Reason::try_from(n).ok())
    }

    #[test]
    fn every_reason_survives_the_wire() {
        for reason in all().filter(|r| *r != Reason::Unspecified) {
            let sent = Refusal::new(reason, "why").with_hint("do this");
            assert_eq!(Refusal::from_status(&Status::from(sent.clone())), sent);
        }
    }

    #[test]
    fn words_are_unique_and_exit_codes_are_of_the_contract() {
        let words: HashSet<_> = all()
            .filter(|r| *r != Reason::Unspecified)
            .map(word)
            .collect();
        assert_eq!(words.len(), all().count() - 1);
        assert!(all().all(|r| (1..=6).contains(&exit_code(r))));
    }

    #[test]
    fn statuses_of_the_transport_get_a_reason() {
        let reason = |code| Refusal::from_status(&Status::new(code, "x")).reason;
        assert_eq!(reason(Code::Cancelled), Reason::Timeout);
        assert_eq!(reason(Code::OutOfRange), Reason::BodyTooLarge);
        assert_eq!(reason(Code::Unavailable), Reason::Unavailable);
        // Agent sockets do not serve the operator's service at all.
        assert_eq!(reason(Code::Unimplemented), Reason::NotPermitted);
    }
}
